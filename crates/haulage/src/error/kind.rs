//! The classes of failure: the code, the exit code and the usual advice of each.

/// The class of a failure. Each has a stable code and belongs to one exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request itself makes no sense: a bad option, a bad URL.
    Usage,
    /// The service or the file system refused access.
    Permission,
    /// No such file, blob or container.
    NotFound,
    /// The target exists already and must not be replaced.
    Exists,
    /// Bytes differ from their checksum.
    Integrity,
    /// The source changed while it was read.
    SourceChanged,
    /// The service is overloaded or has failed for now.
    Busy,
    /// The connection broke or could not be made.
    Connection,
    /// No progress within the stall timeout.
    Stalled,
    /// The service answered with something else that it will answer again.
    Service,
    /// The answer is not one that such a service gives, so that nothing in it is believed.
    Protocol,
    /// No room left on the destination.
    NoSpace,
    /// The local file system failed.
    Io,
    /// This store cannot do that.
    Unsupported,
    /// The machine that was to do it was lost, again and again.
    NodeLost,
    /// The job was cancelled.
    Cancelled,
}

impl ErrorKind {
    /// Every kind, for tables and tests.
    pub const ALL: [ErrorKind; 16] = [
        Self::Usage,
        Self::Permission,
        Self::NotFound,
        Self::Exists,
        Self::Integrity,
        Self::SourceChanged,
        Self::Busy,
        Self::Connection,
        Self::Stalled,
        Self::Service,
        Self::Protocol,
        Self::NoSpace,
        Self::Io,
        Self::Unsupported,
        Self::NodeLost,
        Self::Cancelled,
    ];

    /// The stable code, as in JSON, Parquet and Python.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::Exists => "exists",
            Self::Integrity => "integrity",
            Self::SourceChanged => "source_changed",
            Self::Busy => "busy",
            Self::Connection => "connection",
            Self::Stalled => "stalled",
            Self::Service => "service",
            Self::Protocol => "protocol",
            Self::NoSpace => "no_space",
            Self::Io => "io",
            Self::Unsupported => "unsupported",
            Self::NodeLost => "node_lost",
            Self::Cancelled => "cancelled",
        }
    }

    /// What to do about it where nothing better is known.
    pub(super) const fn usual_hint(self) -> Option<&'static str> {
        match self {
            Self::Busy => Some(
                "run the same command again when the service is less busy; what has arrived is not sent again",
            ),
            Self::Connection | Self::Stalled => {
                Some("check the network and run the same command again; what has arrived is not sent again")
            }
            Self::Service => {
                Some("run the same command again; if it keeps failing, contact the operator of the service")
            }
            Self::Protocol => Some("check the endpoint, and whether a proxy or a login page answers instead"),
            Self::Exists => Some("choose another name"),
            Self::SourceChanged => Some("run the same command again when nobody writes to it"),
            Self::Integrity => Some("no damaged data was kept; run the same command again"),
            Self::Permission => Some("check the permissions"),
            Self::Io => Some("check the path and the disk it is on"),
            Self::Usage | Self::Unsupported => Some("haul --help shows examples"),
            Self::NotFound => Some("check the name"),
            Self::NoSpace => Some("free some space, then run the same command again"),
            Self::NodeLost => Some("check the nodes' logs, memory and network"),
            Self::Cancelled => None,
        }
    }

    /// The exit code of the command when this is the failure of the whole job.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage | Self::Unsupported => 2,
            Self::Permission => 3,
            Self::NotFound => 4,
            Self::Integrity => 5,
            Self::SourceChanged => 6,
            Self::Cancelled => 130,
            Self::Exists
            | Self::Busy
            | Self::Connection
            | Self::Stalled
            | Self::Service
            | Self::Protocol
            | Self::NoSpace
            | Self::NodeLost
            | Self::Io => 1,
        }
    }
}
