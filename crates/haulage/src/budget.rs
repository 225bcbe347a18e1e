//! The only limits: requests and bytes in flight.
