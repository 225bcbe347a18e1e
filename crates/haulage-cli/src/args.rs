//! Options that commands share, each defined once.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use haulage::checksum::ChecksumMode;
use haulage::config::Config;
use haulage::http::ProxyChoice;
use haulage::job::{Bounds, CopyOptions, MethodChoice, NameList, Overwrite, ServerSide, Setting, TierChoice};
use haulage::report::ReportKind;
use haulage::store::{Addressing, Preserve, StoreOptions};
use haulage::units::{ByteRate, ByteSize};
use haulage::{Error, ErrorKind};

use crate::value;

/// How much the command says, and in which form. Every command takes these.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print JSON to standard output, one event or object per line
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Say on standard error what is decided and why; -vv also each request
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// How progress is shown on standard error
    #[arg(long, global = true, value_enum, value_name = "HOW", default_value_t, hide_possible_values = true)]
    #[arg(help = "Progress on standard error: auto, bar, plain (a line every 10 s) or none")]
    pub progress: ProgressMode,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// A bar on a terminal, plain lines elsewhere
    #[default]
    Auto,
    /// A bar that is drawn anew ten times a second
    Bar,
    /// A line every ten seconds
    Plain,
    /// Nothing
    None,
}

/// How to reach the stores.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stores")]
pub struct StoreArgs {
    /// Endpoint of az://container or s3://bucket; overrides the environment
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub endpoint: Option<String>,
    /// Region of the S3 bucket; by default from the environment or the service
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// How to address S3 buckets: auto (host at AWS, path elsewhere), path or virtual
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = value::addressing())]
    #[arg(action = clap::ArgAction::Set)]
    #[arg(hide_possible_values = true)]
    pub addressing: Setting<Addressing>,
    /// Send unsigned S3 requests, for public buckets
    #[arg(long)]
    pub no_sign_request: bool,
    /// Agree to pay for reads from requester-pays S3 buckets
    #[arg(long)]
    pub requester_pays: bool,
    /// Allow plain http to other machines; data and signatures travel unencrypted
    #[arg(long)]
    pub insecure_http: bool,
    /// Use this proxy, or none; overrides HTTPS_PROXY
    #[arg(long, value_name = "URL|none", value_hint = ValueHint::Url)]
    pub proxy: Option<ProxyChoice>,
    /// Connect from this address of the machine, on machines with several networks
    #[arg(long, value_name = "ADDRESS", value_parser = value::ip)]
    pub bind: Option<IpAddr>,
    /// Also trust the CA certificates in this PEM file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// Retry a request after this long without progress [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub stall_timeout: Option<Duration>,
    /// Limit the rate, both directions together, such as 500mbit
    #[arg(long, value_name = "RATE")]
    pub cap: Option<ByteRate>,
}

impl StoreArgs {
    /// As the engine takes them, with what the configuration says of remotes and allowed endpoints.
    ///
    /// # Errors
    /// Where the configuration cannot be read.
    pub fn options(&self) -> Result<StoreOptions, Error> {
        let defaults = StoreOptions::default();
        Ok(StoreOptions {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            addressing: self.addressing.fixed(),
            unsigned: self.no_sign_request,
            requester_pays: self.requester_pays,
            insecure_http: self.insecure_http,
            proxy: self.proxy.clone().unwrap_or_default(),
            bind: self.bind,
            ca: self.ca.clone(),
            stall_timeout: self.stall_timeout.unwrap_or(defaults.stall_timeout),
            cap: self.cap,
            config: Config::current()?,
            ..defaults
        })
    }
}

/// Which names take part.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Selection")]
pub struct SelectArgs {
    /// Include only matching names below the source; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Exclude matching names, even if included; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Symbolic links below a folder: skip (and report them), or follow, wherever they lead
    #[arg(long, value_name = "HOW", default_value = "skip", value_parser = value::follow_symlinks())]
    #[arg(action = clap::ArgAction::Set)]
    #[arg(hide_possible_values = true)]
    pub symlinks: bool,
    /// Only objects of this size or larger
    #[arg(long, value_name = "SIZE")]
    pub min_size: Option<ByteSize>,
    /// Only objects of this size or smaller
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<ByteSize>,
    /// Only objects last changed this long ago, or longer, such as 7d
    #[arg(long, value_name = "DURATION", value_parser = value::age)]
    pub min_age: Option<Duration>,
    /// Only objects changed since this long ago
    #[arg(long, value_name = "DURATION", value_parser = value::age)]
    pub max_age: Option<Duration>,
    /// Only the names in this file, one a line, relative to SRC; they are asked for directly and nothing is listed; - for
    /// standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "files_from0")]
    pub files_from: Option<PathBuf>,
    /// The same, with a zero byte after each name, as find -print0 writes them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files_from0: Option<PathBuf>,
}

impl SelectArgs {
    /// The names that are asked for directly.
    fn names(&self) -> Option<NameList> {
        let list = |path: &PathBuf, zero| NameList::File { path: path.clone(), zero };
        let lines = self.files_from.as_ref().map(|path| list(path, false));
        lines.or_else(|| self.files_from0.as_ref().map(|path| list(path, true)))
    }
}

/// How objects travel.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Transfer")]
pub struct TransferArgs {
    /// Requests in flight; auto finds the best number while the job runs
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = value::concurrency)]
    pub concurrency: Setting<usize>,
    /// Size of blocks and ranges; auto follows the link, from 64KiB to 4MiB
    #[arg(long, value_name = "auto|SIZE", default_value = "auto", value_parser = value::size_setting)]
    pub block_size: Setting<ByteSize>,
    /// Send objects up to this size in one request; auto: one block, or four with many objects
    #[arg(long, value_name = "auto|SIZE", default_value = "auto", value_parser = value::size_setting)]
    pub single_put_max: Setting<ByteSize>,
    /// How to copy large objects: auto, whole or ranges
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = value::method())]
    #[arg(hide_possible_values = true)]
    pub method: MethodChoice,
    /// Within one service: auto (the service copies if it can) or never (all data passes through here)
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = value::server_side())]
    #[arg(hide_possible_values = true)]
    pub server_side: ServerSide,
    /// Checksum on every request: crc64 (nearly free), md5 or none
    #[arg(long, value_name = "KIND", default_value = "crc64", value_parser = value::checksum())]
    #[arg(hide_possible_values = true)]
    pub checksum: ChecksumMode,
    /// Store the MD5 of each object as its Content-MD5; objects sent in blocks are read twice
    #[arg(long)]
    pub content_md5: bool,
    /// Limit on bytes in flight; the default keeps the whole process below 128 MiB
    #[arg(long, value_name = "SIZE", default_value = "96MiB", value_parser = value::size)]
    pub max_memory: ByteSize,
    /// Give way to other traffic: slow down as soon as a queue builds up
    #[arg(long)]
    pub polite: bool,
    /// Stop after this long with exit code 130; data that has arrived is kept, and the same command resumes
    #[arg(long, value_name = "DURATION", value_parser = value::limit)]
    pub max_duration: Option<Duration>,
    /// Start from values that haul lab measured: a profile's name or file
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

/// What objects have besides their bytes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Attributes")]
pub struct AttributeArgs {
    /// Access tier or storage class of the copies: auto (as the source), default (of the account), or a name such as cool
    /// or STANDARD_IA
    #[arg(long, visible_alias = "storage-class", value_name = "auto|default|NAME", default_value = "auto")]
    pub tier: TierChoice,
    /// Do not copy tags between object stores
    #[arg(long)]
    pub no_tags: bool,
    /// Keep these file attributes in metadata that rclone and AzCopy understand, and restore them: mode, owner, times,
    /// special (setuid and the like), separated by commas; posix is the first three, all is all four
    #[arg(long, value_name = "WHAT")]
    pub preserve: Option<Preserve>,
}

impl AttributeArgs {
    /// Puts them into the options.
    pub fn apply(self, options: &mut CopyOptions) {
        options.tier = self.tier;
        options.tags = !self.no_tags;
        options.preserve = self.preserve.unwrap_or_default();
    }
}

/// What is removed, and what is not.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Removal")]
pub struct RemoveArgs {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Remove nothing if that would be more objects than this
    #[arg(long, value_name = "N")]
    pub max_delete: Option<u64>,
}

/// Which of the names below are removed.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Selection")]
pub struct GlobArgs {
    /// Include only matching names; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Exclude matching names, even if included; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
}

/// Where it is told what happens.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct RecordArgs {
    /// Write a row for every attempt to this file
    #[arg(long, value_name = "FILE.parquet", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    /// Write events to this log too, for haul watch: a folder, az://container/prefix or s3://bucket/prefix
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub log: Option<String>,
    /// Serve Prometheus metrics at http://ADDR/metrics while the job runs
    #[arg(long, value_name = "ADDR", value_parser = value::metrics)]
    pub metrics: Option<SocketAddr>,
}

impl RecordArgs {
    /// Puts them into the options.
    pub fn apply(self, options: &mut CopyOptions) {
        options.record = self.record;
        options.log = self.log;
        options.metrics = self.metrics;
    }
}

/// Names of what a comparison finds, by kind.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub struct ReportArgs {
    /// Write all names to this file, each behind a sign: = equal, * differs, + missing, - extra, ! failed; - for standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub combined: Option<PathBuf>,
    /// Write the names of equal objects to this file, one a line; - for standard output
    #[arg(long, alias = "match", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub equal: Option<PathBuf>,
    /// The same for objects that differ
    #[arg(long, alias = "differ", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub differs: Option<PathBuf>,
    /// The same for objects that are missing at the destination
    #[arg(long, alias = "missing-on-dst", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub missing: Option<PathBuf>,
    /// The same for objects only at the destination
    #[arg(long, alias = "missing-on-src", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub extra: Option<PathBuf>,
    /// The same for objects that could not be compared
    #[arg(long, alias = "error", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub failed: Option<PathBuf>,
}

impl ReportArgs {
    /// Puts the files into the options; which of them is standard output.
    ///
    /// # Errors
    /// Where several are, or all that `json` says.
    pub fn apply(self, options: &mut CopyOptions, json: bool) -> Result<Option<ReportKind>, Error> {
        let Self { combined, equal, differs, missing, extra, failed } = self;
        let mut stdout = None;
        for (kind, path) in
            ReportKind::ALL.into_iter().zip([combined, equal, differs, missing, extra, failed])
        {
            match path {
                Some(path) if path.as_os_str() == "-" => {
                    if json || stdout.is_some() {
                        let cause = "standard output can hold only one of them";
                        let error =
                            Error::new(ErrorKind::Usage, "parse", format!("--{} -", kind.word()), cause);
                        return Err(error.hint("write the others to files"));
                    }
                    stdout = Some(kind);
                }
                Some(path) => options.reports.push((kind, path)),
                None => {}
            }
        }
        Ok(stdout)
    }
}

/// When an object at the destination is replaced.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Selection")]
pub struct OverwriteArgs {
    /// Replace existing objects: if-different (so a re-run resumes), always or never
    #[arg(long, value_name = "WHEN", default_value = "if-different", value_parser = value::overwrite())]
    #[arg(hide_possible_values = true)]
    pub overwrite: Overwrite,
}

/// The engine's options from those of the command; what a command does not offer keeps its default.
///
/// # Errors
/// Where the configuration cannot be read.
pub fn copy_options(
    transfer: &TransferArgs,
    select: SelectArgs,
    store: &StoreArgs,
) -> Result<CopyOptions, Error> {
    Ok(CopyOptions {
        concurrency: transfer.concurrency,
        block_size: transfer.block_size,
        single_put_max: transfer.single_put_max,
        method: transfer.method,
        server_side: transfer.server_side,
        checksum: transfer.checksum,
        content_md5: transfer.content_md5,
        max_memory: transfer.max_memory,
        polite: transfer.polite,
        profile: transfer.profile.clone(),
        names: select.names(),
        bounds: Bounds {
            min_size: select.min_size,
            max_size: select.max_size,
            min_age: select.min_age,
            max_age: select.max_age,
        },
        max_duration: transfer.max_duration,
        wildcards: true,
        include: select.include,
        exclude: select.exclude,
        store: StoreOptions { follow_symlinks: select.symlinks, ..store.options()? },
        ..CopyOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(words: &[&str]) -> CopyOptions {
        let line = ["haul", "plan", "a", "b"].iter().chain(words).map(Into::into).collect::<Vec<_>>();
        let cli = crate::cli::parse(&line).unwrap();
        let crate::command::Command::Plan(plan) = cli.command else { panic!("parsed as {:?}", cli.command) };
        plan.options().unwrap()
    }

    #[test]
    fn a_job_writes_down_what_it_was_told_in_the_words_of_the_command() {
        let words = [
            "--concurrency 8 --block-size 64KiB --single-put-max 1025B --method whole --server-side never",
            "--checksum md5 --content-md5 --max-memory 8MiB --polite --profile office --overwrite always",
            "--include *.nc --include a* --exclude *.tmp --min-size 1MiB --max-size 2GiB --min-age 12h",
            "--max-age 168h --files-from0 names --symlinks follow --endpoint http://127.0.0.1:9 --region eu-1",
            "--addressing path --no-sign-request --requester-pays --insecure-http --proxy none --bind 10.1.0.7",
            "--ca ca.pem --stall-timeout 1500ms --cap 60mbit",
        ];
        let words: Vec<&str> = words.iter().flat_map(|line| line.split(' ')).collect();
        assert_eq!(planned(&words).words(), words);
    }

    #[test]
    fn the_help_states_the_engines_own_defaults() {
        assert_eq!(StoreOptions::default().stall_timeout, Duration::from_secs(30));
        let mut options = planned(&[]);
        options.store.config = StoreOptions::default().config;
        assert!(std::mem::take(&mut options.wildcards), "a person writes them");
        assert_eq!(format!("{options:?}"), format!("{:?}", CopyOptions::default()));
    }
}
