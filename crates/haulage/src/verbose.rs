//! What is decided and why, in plain words, for whoever asks for it: `haul -v`.
//!
//! One listener in the process. Where there is none a message costs one load of an atomic and is not even made. Each passes the
//! removal of secrets on its way out.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::secret::redact;

/// How much somebody wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Decisions: who asks, where, through what; what becomes of each object; what is tried again, and why.
    Info = 1,
    /// Each request, what is skipped, and what the controller chooses meanwhile, too.
    Debug = 2,
}

impl Level {
    /// `info` or `debug`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// The level for so many `-v`; `None` for none.
    pub fn of_count(count: u8) -> Option<Self> {
        match count {
            0 => None,
            1 => Some(Self::Info),
            _ => Some(Self::Debug),
        }
    }
}

/// Who hears the messages. Called on whatever thread has something to say, so it must not wait.
pub type Listener = Arc<dyn Fn(Level, &str) + Send + Sync>;

static WANTED: AtomicU8 = AtomicU8::new(0);
static LISTENER: RwLock<Option<Listener>> = RwLock::new(None);

/// From now on tells `listener` all messages up to this level, in place of a former listener; nobody with `None`.
pub fn listen(to: Option<(Level, Listener)>) {
    let level = to.as_ref().map_or(0, |(level, _)| *level as u8);
    *LISTENER.write().unwrap_or_else(PoisonError::into_inner) = to.map(|(_, listener)| listener);
    WANTED.store(level, Ordering::Relaxed);
}

/// Whether anybody wants to hear this.
pub fn wants(level: Level) -> bool {
    WANTED.load(Ordering::Relaxed) >= level as u8
}

/// Says it.
pub fn say(level: Level, text: &str) {
    let listener = LISTENER.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(listener) = listener {
        listener(level, &redact(text));
    }
}

/// `verbose!(Info, "{} is reached through {}", ...)`.
macro_rules! verbose {
    ($level:ident, $($words:tt)*) => {
        if $crate::verbose::wants($crate::verbose::Level::$level) {
            $crate::verbose::say($crate::verbose::Level::$level, &format!($($words)*));
        }
    };
}
pub(crate) use verbose;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn who_listens_hears_up_to_a_level_and_no_secret() {
        crate::secret::remember("a-secret-of-verbose");
        let heard: Arc<Mutex<Vec<(Level, String)>>> = Arc::default();
        let listener = {
            let heard = Arc::clone(&heard);
            move |level, text: &str| heard.lock().unwrap().push((level, text.to_owned()))
        };
        verbose!(Info, "verbose nobody listens");
        listen(Some((Level::Info, Arc::new(listener))));
        verbose!(Info, "verbose {} and {}", 1, "a-secret-of-verbose");
        verbose!(Debug, "verbose too much");
        listen(None);
        verbose!(Info, "verbose nobody listens any more");
        // Other tests of this process may have had something to say meanwhile.
        let ours = |(_, text): &&(Level, String)| text.starts_with("verbose");
        let heard: Vec<_> = heard.lock().unwrap().iter().filter(ours).cloned().collect();
        assert_eq!(heard, [(Level::Info, "verbose 1 and REDACTED".to_owned())]);
        assert_eq!(
            [0, 1, 2, 9].map(Level::of_count),
            [None, Some(Level::Info), Some(Level::Debug), Some(Level::Debug)]
        );
    }
}
