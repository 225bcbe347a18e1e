//! A wait that the cap imposes on one direction of a connection.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::traffic::Traffic;

/// A wait that the cap imposes on one direction.
#[derive(Debug, Default)]
pub(super) struct Pause {
    sleep: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Pause {
    pub(super) fn set(&mut self, until: Instant, traffic: &Traffic) {
        // tokio's timer counts whole milliseconds; shorter waits pass and the debt is paid with the next.
        if until.saturating_duration_since(Instant::now()) < Duration::from_millis(1) {
            return;
        }
        traffic.hold_until(until);
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(until),
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(until))),
        }
        self.waiting = true;
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let (true, Some(sleep)) = (self.waiting, &mut self.sleep) {
            ready!(sleep.as_mut().poll(cx));
            self.waiting = false;
        }
        Poll::Ready(())
    }
}
