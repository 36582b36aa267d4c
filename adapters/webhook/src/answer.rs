//! What a receiver's answer means for the message.

use amends::ports::PublishError;

/// A status of 200 to 299 acknowledges. Where another try may help it is made soon; otherwise the message is
/// refused, and people see it.
pub(crate) fn of_status(status: u16) -> Result<(), PublishError> {
    let said = format!("the receiver answered with status {status}");
    match status {
        200..=299 => Ok(()),
        // Too slow, still at work on the same key, too early, too many, or its own fault.
        408 | 409 | 425 | 429 | 500..=599 => Err(PublishError::Unavailable(said)),
        // A redirect is the operator's to follow: the secret goes to no other place.
        _ => Err(PublishError::Refused(said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_success_acknowledges_and_only_what_may_pass_is_tried_soon() {
        let kind = |status| match of_status(status) {
            Ok(()) => "acknowledged",
            Err(PublishError::Unavailable(_)) => "again",
            Err(PublishError::Refused(_)) => "refused",
        };
        for status in [200, 202, 204] {
            assert_eq!(kind(status), "acknowledged", "{status}");
        }
        for status in [408, 409, 425, 429, 500, 503, 599] {
            assert_eq!(kind(status), "again", "{status}");
        }
        for status in [301, 307, 400, 401, 404, 410, 413, 422] {
            assert_eq!(kind(status), "refused", "{status}");
        }
    }
}
