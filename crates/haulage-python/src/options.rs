//! Python's keyword arguments as [`CopyOptions`].

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use haulage::CopyOptions;
use haulage::checksum::ChecksumMode;
use haulage::config::Config;
use haulage::job::{MethodChoice, NameList, Overwrite, ServerSide, Setting, links_folder};
use haulage::report::ReportKind;
use haulage::store::{AccessKeys, Addressing};
use haulage::units::parse_duration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::enter::sessions;
use crate::error::{Raise, usage};
use crate::session::session;

/// A path or URL: `str`, or anything with `__fspath__`.
#[derive(Clone, Debug)]
pub(crate) struct Name(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(text) = object.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => Ok(Self(text.to_owned())),
                Err(_) => Err(not_text(py, &text.to_string_lossy())),
            };
        }
        let path: std::path::PathBuf = object.extract()?;
        let text =
            path.into_os_string().into_string().map_err(|name| not_text(py, &name.to_string_lossy()))?;
        // pathlib folds `az://data` to `az:/data`, which would then name a local folder `az:`.
        match text.split_once(":/") {
            Some((scheme @ ("az" | "az-table" | "s3" | "http" | "https" | "mem"), _)) => Err(usage(
                py,
                &text,
                "a Path cannot hold a URL, it folds the //",
                &format!("pass the URL as a str: \"{scheme}://...\""),
            )),
            _ => Ok(Self(text)),
        }
    }
}

fn not_text(py: Python<'_>, name: &str) -> PyErr {
    usage(py, name, "the name is not valid UTF-8", "rename the file, or copy the folder that holds it")
}

/// The engine's defaults with what Python gives in place; `None` gives nothing.
pub(crate) fn copy_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<CopyOptions> {
    let mut options = CopyOptions { links: links_folder(), ..CopyOptions::default() };
    options.store.config = Python::attach(|py| Config::current().or_raise(py))?;
    for (key, value) in given.into_iter().flatten() {
        if value.is_none() {
            continue;
        }
        let py = value.py();
        match key.cast::<PyString>()?.to_str()? {
            "concurrency" => options.concurrency = setting(&value, whole_number)?,
            "block_size" => options.block_size = setting(&value, unit)?,
            "single_put_max" => options.single_put_max = setting(&value, unit)?,
            "method" => options.method = one_of(&value, METHODS)?,
            "server_side" => options.server_side = one_of(&value, SERVER_SIDES)?,
            "checksum" => options.checksum = one_of(&value, CHECKSUMS)?,
            "content_md5" => options.content_md5 = value.extract()?,
            "tier" => options.tier = unit(&value)?,
            "tags" => options.tags = value.extract()?,
            "preserve" => options.preserve = words(&value)?.parse().or_raise(py)?,
            "atomic" => options.atomic = value.extract()?,
            "polite" => options.polite = value.extract()?,
            "remember_link" => {
                let remember = value.extract()?;
                options.links = options.links.filter(|_| remember);
            }
            "profile" => options.profile = Some(value.extract::<Name>()?.0),
            "symlinks" => options.store.follow_symlinks = one_of(&value, SYMLINKS)?,
            "max_memory" => options.max_memory = unit(&value)?,
            "overwrite" => options.overwrite = one_of(&value, OVERWRITES)?,
            "compare" => options.compare = unit(&value)?,
            "dry_run" => options.dry_run = value.extract()?,
            "backup_dir" => options.backup = Some(value.extract::<Name>()?.0),
            "include" => options.include = globs(&value)?,
            "exclude" => options.exclude = globs(&value)?,
            "files_from" => options.names = Some(name_list(&value)?),
            "min_size" => options.bounds.min_size = Some(unit(&value)?),
            "max_size" => options.bounds.max_size = Some(unit(&value)?),
            "min_age" => options.bounds.min_age = Some(duration(&value)?),
            "max_age" => options.bounds.max_age = Some(duration(&value)?),
            "max_duration" => options.max_duration = Some(duration(&value)?),
            "flush" => options.store.flush = value.extract()?,
            "record" => options.record = Some(value.extract()?),
            "log" => options.log = Some(value.extract::<Name>()?.0),
            "metrics" => options.metrics = Some(address(&value)?),
            "reports" => options.reports = reports(&value)?,
            "receipt" => options.receipt = Some(value.extract()?),
            "endpoint" => options.store.endpoint = Some(value.extract()?),
            "region" => options.store.region = Some(value.extract()?),
            "keys" => options.store.keys = Some(access_keys(&value)?),
            "addressing" => options.store.addressing = one_of(&value, ADDRESSINGS)?,
            "unsigned" => options.store.unsigned = value.extract()?,
            "requester_pays" => options.store.requester_pays = value.extract()?,
            "insecure_http" => options.store.insecure_http = value.extract()?,
            "proxy" => options.store.proxy = value.extract::<String>()?.parse().or_raise(py)?,
            "bind" => options.store.bind = Some(ip(&value)?),
            "ca" => options.store.ca = Some(value.extract()?),
            "stall_timeout" => options.store.stall_timeout = duration(&value)?,
            "session" => options.store.session = Some(session(&value)?),
            "cap" => options.store.cap = Some(unit(&value)?),
            other => return Err(usage(py, other, "no such option", "see help(haulage.copy)")),
        }
    }
    Ok(options)
}

/// The same for a call that is no job: where it names no session, those in the same environment share one.
pub(crate) fn shared_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<CopyOptions> {
    let mut options = copy_options(given)?;
    if options.store.session.is_none() {
        options.store.session = Some(sessions()?.current());
    }
    Ok(options)
}

const METHODS: &[(&str, MethodChoice)] =
    &[("auto", MethodChoice::Auto), ("whole", MethodChoice::Whole), ("ranges", MethodChoice::Ranges)];
const SERVER_SIDES: &[(&str, ServerSide)] = &[("auto", ServerSide::Auto), ("never", ServerSide::Never)];
const CHECKSUMS: &[(&str, ChecksumMode)] =
    &[("crc64", ChecksumMode::Crc64), ("md5", ChecksumMode::Md5), ("none", ChecksumMode::None)];
const ADDRESSINGS: &[(&str, Option<Addressing>)] =
    &[("auto", None), ("path", Some(Addressing::Path)), ("virtual", Some(Addressing::Virtual))];
const SYMLINKS: &[(&str, bool)] = &[("skip", false), ("follow", true)];
const OVERWRITES: &[(&str, Overwrite)] =
    &[("if-different", Overwrite::IfDifferent), ("always", Overwrite::Always), ("never", Overwrite::Never)];

/// Id, secret and perhaps a session token.
fn access_keys(value: &Bound<'_, PyAny>) -> PyResult<AccessKeys> {
    if let Ok((id, secret, token)) = value.extract() {
        return Ok(AccessKeys { id, secret, token });
    }
    let (id, secret) = value.extract()?;
    Ok(AccessKeys { id, secret, token: None })
}

/// Names, or the file that holds one a line.
fn name_list(value: &Bound<'_, PyAny>) -> PyResult<NameList> {
    match value.extract::<Name>() {
        Ok(Name(path)) => Ok(NameList::File { path: path.into(), zero: false }),
        Err(_) => {
            let names: Vec<Name> = value.extract()?;
            Ok(NameList::Given(Arc::new(names.into_iter().map(|Name(name)| name).collect())))
        }
    }
}

/// A file for each kind of what a comparison finds.
fn reports(value: &Bound<'_, PyAny>) -> PyResult<Vec<(ReportKind, PathBuf)>> {
    let given: HashMap<String, PathBuf> = value.extract()?;
    let mut reports = Vec::with_capacity(given.len());
    for (kind, path) in given {
        reports.push((kind.parse().or_raise(value.py())?, path));
    }
    reports.sort();
    Ok(reports)
}

/// `"auto"`, or what `parse` makes of it.
fn setting<'py, T>(
    value: &Bound<'py, PyAny>,
    parse: fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Setting<T>> {
    match value.extract::<String>().as_deref() {
        Ok("auto") => Ok(Setting::Auto),
        _ => parse(value).map(Setting::Fixed),
    }
}

/// Text with a unit. A bare number goes the same way, and is refused with the engine's hint.
fn unit<T: FromStr<Err = haulage::Error>>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    value.str()?.to_str()?.parse().or_raise(value.py())
}

/// Words, in a text with commas or in a sequence.
fn words(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<String>() {
        Ok(text) => Ok(text),
        Err(_) => value.extract::<Vec<String>>().map(|words| words.join(",")),
    }
}

/// One glob, or several. A text is one, whatever is in it.
fn globs(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.extract::<String>() {
        Ok(one) => Ok(vec![one]),
        Err(_) => value.extract(),
    }
}

/// Text with a unit, or a `datetime.timedelta`.
fn duration(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    match value.extract::<Duration>() {
        Ok(duration) => Ok(duration),
        Err(_) => parse_duration(value.str()?.to_str()?).or_raise(value.py()),
    }
}

/// `HOST:PORT`, the host as numbers.
fn address(value: &Bound<'_, PyAny>) -> PyResult<SocketAddr> {
    let text = value.str()?;
    let text = text.to_string_lossy();
    text.parse().map_err(|_| usage(value.py(), &text, "not an address", "write one such as 127.0.0.1:9400"))
}

/// An address of this machine, as numbers or from `ipaddress`.
fn ip(value: &Bound<'_, PyAny>) -> PyResult<IpAddr> {
    let text = value.str()?;
    let text = text.to_string_lossy();
    let hint = "write an address of this machine, such as 10.1.0.7";
    text.parse().map_err(|_| usage(value.py(), &text, "not an address", hint))
}

fn whole_number(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    match value.extract::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(usage(
            value.py(),
            &value.str()?.to_string_lossy(),
            "not a number of requests",
            "write \"auto\" or a whole number from 1",
        )),
    }
}

fn one_of<T: Copy>(value: &Bound<'_, PyAny>, choices: &[(&str, T)]) -> PyResult<T> {
    let text = value.str()?;
    let text = text.to_string_lossy();
    match choices.iter().find(|(name, _)| *name == text) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            Err(usage(value.py(), &text, "no such choice", &format!("write {}", names.join(", "))))
        }
    }
}
