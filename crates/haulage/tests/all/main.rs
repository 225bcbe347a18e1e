//! The engine by what it exports: whole jobs, stores and the HTTP client. One program, so that what it stands on is linked once.

mod azure_azurite;
mod azure_http;
mod azure_speed;
mod by_service;
mod cluster;
mod conformance;
mod ground;
mod mover;
mod portions;
mod proxy;
mod s3_answers;
mod s3_lone_part;
mod s3_versitygw;
mod session;
mod shared;
