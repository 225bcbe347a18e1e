//! What a signature must allow for each operation.

use crate::request::{Call, Operation};

/// The level of a resource, as account signatures write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Service,
    Container,
    Object,
}

impl Level {
    pub(super) fn letter(self) -> char {
        match self {
            Self::Service => 's',
            Self::Container => 'c',
            Self::Object => 'o',
        }
    }
}

/// Where the operation acts, and the letters of which one must be granted. No letter: any
/// valid signature will do.
pub(super) fn needed(operation: Operation) -> (Level, &'static str) {
    use Operation as Op;
    match operation {
        Op::AccountInformation => (Level::Service, ""),
        Op::ServiceProperties => (Level::Service, "r"),
        Op::ListContainers => (Level::Service, "l"),
        Op::CreateContainer => (Level::Container, "cw"),
        Op::DeleteContainer => (Level::Container, "d"),
        Op::ContainerProperties => (Level::Container, "r"),
        Op::SetContainerMetadata => (Level::Container, "w"),
        Op::ListBlobs => (Level::Container, "l"),
        Op::PutBlob | Op::PutBlobFromUrl | Op::CopyBlob => (Level::Object, "wc"),
        Op::AppendBlock | Op::AppendBlockFromUrl => (Level::Object, "aw"),
        Op::SealBlob => (Level::Object, "w"),
        Op::PutBlock | Op::PutBlockFromUrl | Op::PutBlockList => (Level::Object, "w"),
        Op::GetBlob | Op::BlobProperties | Op::BlobMetadata | Op::GetBlockList => (Level::Object, "r"),
        Op::SetBlobMetadata | Op::SetBlobProperties | Op::SetBlobTier => (Level::Object, "w"),
        Op::BlobTags | Op::SetBlobTags => (Level::Object, "t"),
        Op::DeleteBlob => (Level::Object, "d"),
    }
}

/// Whether tags go along with what is asked for: leave to write or list is none to write or read tags.
pub(super) fn carries_tags(call: &Call<'_>) -> bool {
    call.header("x-ms-tags").is_some() || (call.operation == Operation::ListBlobs && call.includes("tags"))
}

/// Whether a signature for a container or a blob may ask for this at all. It may not touch the
/// container itself.
pub(super) fn open_to_service_sas(operation: Operation, of_container: bool) -> bool {
    match needed(operation).0 {
        Level::Object => true,
        Level::Container => of_container && operation == Operation::ListBlobs,
        Level::Service => operation == Operation::AccountInformation,
    }
}
