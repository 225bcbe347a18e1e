//! What goes over the wire: bodies in and out, XML, times and errors.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod incoming;
pub(crate) mod node;
pub(crate) mod reply;
pub(crate) mod tamper;
pub(crate) mod time;
pub(crate) mod upload;
pub(crate) mod xml;
