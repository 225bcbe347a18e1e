//! Single questions to a table: a page of rows as the service writes it, and the names of the tables of an account.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Method;
use serde::Deserialize;

use super::page::Page;
use super::query::{self, Query, RawPage};
use super::write;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::store::StoreOptions;
use crate::store::azure::table::{TableRequest, TableService};

/// Pages of a list of tables; each has a thousand names.
const PLACES_MAX: usize = 2_000;

/// How much the service says beside the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Values alone: what a number of 64 bits, a time and a text are cannot be told apart.
    None,
    /// The types that JSON does not show.
    #[default]
    Minimal,
    /// Links and versions of each row besides.
    Full,
    /// The feed of Atom, which services older than 2015-12-11 gave.
    Atom,
}

impl Level {
    fn accept(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata",
            Self::Minimal => query::TYPED,
            Self::Full => "application/json;odata=fullmetadata",
            Self::Atom => "application/atom+xml",
        }
    }
}

/// A table that is asked single questions. Clones share connections.
#[derive(Clone, Debug)]
pub struct Table {
    service: TableService,
    gate: Gate,
}

impl Table {
    /// Finds out where the table is and who asks. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for an address that is none, `Permission` where no credential is found.
    pub fn open(url: &str, options: &StoreOptions) -> Result<Self> {
        Ok(Self { service: TableService::open(url, options)?, gate: Gate::default() })
    }

    /// As its user would write it, without the SAS.
    pub fn name(&self) -> String {
        self.service.name()
    }

    /// Its URL, without the SAS: another account's has another one.
    pub fn url(&self) -> String {
        self.service.url()
    }

    /// One page, tried as often as anything is.
    ///
    /// # Errors
    /// Those of the service; `Protocol` for an answer that is none.
    pub fn page<'a>(&'a self, query: &'a Query, level: Level) -> BoxFuture<'a, Result<RawPage>> {
        Box::pin(async move {
            let name = self.service.name();
            through!(self.gate, "QueryEntities", name, trace => {
                query::page(&self.service, query, level.accept(), trace).await
            })
        })
    }

    /// Makes the table.
    ///
    /// # Errors
    /// `Usage` for an account, `Exists` if the table is there.
    pub fn create(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.service.names_a_table("create")?;
            write::create(&self.service, &self.gate).await
        })
    }

    /// Removes the table with its rows; a `dry_run` only looks whether it is there.
    ///
    /// # Errors
    /// `Usage` for an account, and for other capitals than the table's own: the service does not tell them apart, whoever
    /// removes should. `NotFound` if there is no such table.
    pub fn remove(&self, dry_run: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.service.names_a_table("remove")?;
            let (names, named) = (self.names().await?, self.service.table());
            if !names.iter().any(|name| name == named) {
                return Err(self.not_among(&names));
            }
            if dry_run { Ok(()) } else { write::remove(&self.service, &self.gate).await }
        })
    }

    fn not_among(&self, names: &[String]) -> Error {
        let named = self.service.table();
        let error = |kind, cause| Error::new(kind, "remove", self.name(), cause);
        match names.iter().find(|name| name.eq_ignore_ascii_case(named)) {
            Some(name) => error(ErrorKind::Usage, format!("the table is called `{name}`"))
                .hint("write its name exactly as it is"),
            None => error(ErrorKind::NotFound, "no such table".to_owned())
                .hint("check the name; haul table ls lists the tables of the account"),
        }
    }

    /// The names of the account's tables.
    ///
    /// # Errors
    /// As for [`Self::page`].
    pub fn names(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move {
            #[derive(Deserialize)]
            struct Named {
                #[serde(rename = "TableName")]
                name: String,
            }
            #[derive(Deserialize)]
            struct Names {
                value: Vec<Named>,
            }
            let (mut names, mut next, mut places) = (Vec::new(), None::<String>, HashSet::new());
            let account = self.service.named("").name();
            loop {
                let pairs: Vec<_> = next.as_deref().map(|next| ("NextTableName", next)).into_iter().collect();
                let answer: Result<_> = through!(self.gate, "QueryTables", account, trace => {
                    let request = TableRequest {
                        operation: "list tables of",
                        method: Method::GET,
                        path: "Tables".to_owned(),
                        query: &pairs,
                        accept: "application/json;odata=nometadata",
                        content_type: None,
                        if_match: None,
                        body: Bytes::new(),
                        status: 200,
                        largest: query::PAGE_MAX,
                        permission: 'r',
                    };
                    self.service.send(request, &account, trace).await
                });
                let answer = answer?;
                let broken =
                    |why: &str| Error::new(ErrorKind::Protocol, "list tables of", account.as_str(), why);
                let page: Names = serde_json::from_slice(&answer.body)
                    .map_err(|_| broken("the answer is no list of tables"))?;
                names.extend(page.value.into_iter().map(|named| named.name));
                let following = answer.headers.get("x-ms-continuation-nexttablename");
                let following = following.and_then(|next| next.to_str().ok()).map(str::to_owned);
                if following.is_none() {
                    return Ok(names);
                }
                if following.as_ref().is_some_and(|name| !places.insert(name.clone()))
                    || places.len() > PLACES_MAX
                {
                    return Err(broken("the list comes back to where it was, so that it would never end"));
                }
                next = following;
            }
        })
    }
}

/// A page of the service, as a stream of Apache Arrow with one column for each name and type: `NAME@TYPE`.
///
/// # Errors
/// `Protocol` for what is no page of rows.
pub fn arrow_of_page(json: &[u8], object: &str) -> Result<Vec<u8>> {
    let page = Page::parse(json, object)?;
    let odd = |error: arrow_schema::ArrowError| {
        Error::new(ErrorKind::Io, "write", object, format!("Arrow: {error}"))
    };
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(Vec::new(), page.batch.schema_ref()).map_err(odd)?;
    writer.write(&page.batch).map_err(odd)?;
    writer.into_inner().map_err(odd)
}
