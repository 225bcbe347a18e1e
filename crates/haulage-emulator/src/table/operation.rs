//! What a request to the table service asks for.

use crate::fault::Nature;
use crate::request::operations;

operations! {
    QueryTables CreateTable DeleteTable GetTableAcl SetTableAcl
    GetTableServiceProperties SetTableServiceProperties GetTableServiceStats PreflightTableRequest
    InsertEntity GetEntity QueryEntities UpdateEntity MergeEntity DeleteEntity EntityGroupTransaction
}

impl Operation {
    /// How it moves data.
    pub(crate) fn nature(self) -> Nature {
        let reads = matches!(self, Self::GetEntity | Self::QueryEntities | Self::QueryTables);
        let writes = self.writes_entities() || self == Self::EntityGroupTransaction;
        Nature { moves_data: reads || writes, carries_blob_bytes: false, commits: writes, is_upload: writes }
    }

    /// Whether it changes one entity.
    pub(super) fn writes_entities(self) -> bool {
        matches!(self, Self::InsertEntity | Self::UpdateEntity | Self::MergeEntity | Self::DeleteEntity)
    }

    /// Where it acts, as account signatures write it, and the letters of which one must be granted. Without letters
    /// no signature will do.
    pub(super) fn needs(self) -> (char, &'static str) {
        match self {
            Self::GetTableServiceProperties | Self::GetTableServiceStats => ('s', "r"),
            Self::SetTableServiceProperties => ('s', "w"),
            Self::QueryTables => ('c', "l"),
            Self::CreateTable => ('c', "cw"),
            Self::DeleteTable => ('c', "d"),
            Self::GetTableAcl | Self::SetTableAcl | Self::PreflightTableRequest => ('c', ""),
            Self::GetEntity | Self::QueryEntities => ('o', "r"),
            Self::InsertEntity => ('o', "a"),
            Self::UpdateEntity | Self::MergeEntity => ('o', "u"),
            Self::DeleteEntity => ('o', "d"),
            Self::EntityGroupTransaction => ('o', "raud"),
        }
    }
}
