//! The six stages of a job, in the order of the flow.
