//! How long to wait before something is tried again: what the caller works out, and in tests a share of it.

use std::sync::OnceLock;
use std::time::Duration;

/// For tests of the command, which would spend most of their time in back-off. How long silence is borne does not change:
/// machines get no faster by it.
const SCALE: &str = "HAUL_TEST_TIME_SCALE";

/// This wait, as long as it is in this process.
pub(crate) fn scaled(wait: Duration) -> Duration {
    static READ: OnceLock<f64> = OnceLock::new();
    let scale = *READ.get_or_init(|| scale(|name| std::env::var(name).ok()));
    // Whole waits stay as they are, to the nanosecond.
    if scale < 1.0 { wait.mul_f64(scale) } else { wait }
}

/// What waits are multiplied by; 1 unless these variables say a number above 0 and up to 1.
fn scale(lookup: impl Fn(&str) -> Option<String>) -> f64 {
    lookup(SCALE)
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|scale| *scale > 0.0 && *scale <= 1.0)
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_share_of_a_wait_is_taken_as_a_scale() {
        let read = |text: &str| scale(|name| (name == SCALE).then(|| text.to_owned()));
        assert_eq!((read("0.01"), read(" 1 ")), (0.01, 1.0));
        for refused in ["", "0", "-0.5", "1.5", "inf", "NaN", "fast"] {
            assert_eq!(read(refused), 1.0, "{refused:?}");
        }
        assert_eq!(scale(|_| None), 1.0);
    }
}
