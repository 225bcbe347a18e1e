//! The endpoint, asked for over the wire: one program, so that what it stands on is linked once.

mod append_blobs;
mod blobs;
mod directory;
mod faults;
mod link;
mod s3_auth;
mod s3_multipart;
mod s3_objects;
mod s3_stores;
mod support;
mod tables_access;
mod tables_batch;
mod tables_entities;
mod tables_faults;
mod tables_queries;
mod tags_and_tiers;
mod tls;
