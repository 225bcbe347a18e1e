//! What a job was told, in the words of the command: for the record, so that a job can be run again as it was.

use std::fmt::Display;
use std::time::Duration;

use super::{Bounds, CopyOptions, MethodChoice, NameList, Overwrite, ServerSide, TierChoice, without_query};
use crate::checksum::ChecksumMode;
use crate::store::{Addressing, StoreOptions};
use crate::units::{ByteRate, ByteSize};

/// Words of a command line.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.0.push(name.to_owned());
        }
    }

    fn option(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_string()]);
        }
    }
}

impl CopyOptions {
    /// The options of `haul cp` that say the same, those at their defaults left out. Without what belongs to one run, such as
    /// where it is recorded, and without secrets: a proxy with its password, and what follows the `?` of a URL.
    pub fn words(&self) -> Vec<String> {
        let Self { bounds, store, .. } = self;
        let defaults = Self::default();
        let mut words = Words::default();
        words.option("--concurrency", self.concurrency.fixed());
        words.option("--block-size", self.block_size.fixed().map(size));
        words.option("--single-put-max", self.single_put_max.fixed().map(size));
        words.option(
            "--method",
            match self.method {
                MethodChoice::Auto => None,
                MethodChoice::Whole => Some("whole"),
                MethodChoice::Ranges => Some("ranges"),
            },
        );
        words.option("--server-side", (self.server_side == ServerSide::Never).then_some("never"));
        words.option(
            "--checksum",
            match self.checksum {
                ChecksumMode::Crc64 => None,
                ChecksumMode::Md5 => Some("md5"),
                ChecksumMode::None => Some("none"),
            },
        );
        words.flag("--content-md5", self.content_md5);
        words.option("--max-memory", (self.max_memory != defaults.max_memory).then(|| size(self.max_memory)));
        words.flag("--polite", self.polite);
        words.option("--profile", self.profile.as_ref());
        words.option(
            "--tier",
            match &self.tier {
                TierChoice::Auto => None,
                TierChoice::Default => Some("default"),
                TierChoice::Named(name) => Some(name.as_str()),
            },
        );
        words.flag("--no-tags", !self.tags);
        words.option(
            "--overwrite",
            match self.overwrite {
                Overwrite::IfDifferent => None,
                Overwrite::Always => Some("always"),
                Overwrite::Never => Some("never"),
            },
        );
        words.flag("--atomic", self.atomic);
        self.include.iter().for_each(|glob| words.option("--include", Some(glob)));
        self.exclude.iter().for_each(|glob| words.option("--exclude", Some(glob)));
        of_bounds(bounds, &mut words);
        if let Some(NameList::File { path, zero }) = &self.names {
            words.option(if *zero { "--files-from0" } else { "--files-from" }, Some(path.display()));
        }
        of_store(store, &defaults.store, &mut words);
        words.0
    }
}

fn of_bounds(bounds: &Bounds, words: &mut Words) {
    words.option("--min-size", bounds.min_size.map(size));
    words.option("--max-size", bounds.max_size.map(size));
    words.option("--min-age", bounds.min_age.map(duration));
    words.option("--max-age", bounds.max_age.map(duration));
}

fn of_store(store: &StoreOptions, defaults: &StoreOptions, words: &mut Words) {
    words.option("--symlinks", store.follow_symlinks.then_some("follow"));
    // Whoever stands in front of a host may be a password.
    words.option("--endpoint", store.endpoint.as_deref().filter(|url| !url.contains('@')).map(without_query));
    words.option("--region", store.region.as_ref());
    words.option(
        "--addressing",
        store.addressing.map(|addressing| match addressing {
            Addressing::Path => "path",
            Addressing::Virtual => "virtual",
        }),
    );
    words.flag("--no-sign-request", store.unsigned);
    words.flag("--requester-pays", store.requester_pays);
    words.flag("--insecure-http", store.insecure_http);
    words.option("--proxy", store.proxy.without_secret().ok().flatten());
    words.option("--bind", store.bind);
    words.option("--ca", store.ca.as_ref().map(|path| path.display()));
    let is_usual = store.stall_timeout == defaults.stall_timeout;
    words.option("--stall-timeout", (!is_usual).then(|| duration(store.stall_timeout)));
    words.option("--cap", store.cap.map(rate));
    words.flag("--no-flush", !store.flush);
}

/// As it is parsed, exactly and without a space.
fn size(size: ByteSize) -> String {
    scaled(size.bytes(), &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)], "B")
}

fn rate(rate: ByteRate) -> String {
    scaled(rate.bits(), &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000)], "bit")
}

fn duration(duration: Duration) -> String {
    match u64::try_from(duration.as_millis()) {
        Ok(millis) => scaled(millis, &[("h", 3_600_000), ("m", 60_000), ("s", 1000)], "ms"),
        Err(_) => format!("{}s", duration.as_secs()),
    }
}

fn scaled(value: u64, units: &[(&str, u64)], least: &str) -> String {
    let fits = |(_, scale): &&(&str, u64)| value >= *scale && value.is_multiple_of(*scale);
    match units.iter().find(fits) {
        Some((unit, scale)) => format!("{}{unit}", value / scale),
        None => format!("{value}{least}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_what_belongs_to_one_run_are_left_out() {
        let mut options = CopyOptions { record: Some("run.parquet".into()), ..CopyOptions::default() };
        options.store.proxy = "http://me:password@proxy.example:8080".parse().unwrap();
        options.store.endpoint = Some("https://me:password@host.example".into());
        assert_eq!(options.words(), [""; 0]);
        options.store.endpoint = Some("https://host.example/account?sig=secret".into());
        assert_eq!(options.words(), ["--endpoint", "https://host.example/account"]);
    }

    #[test]
    fn values_are_exact() {
        assert_eq!(
            (size(ByteSize::new(3 << 20)), size(ByteSize::new(1025))),
            ("3MiB".into(), "1025B".into())
        );
        let bits = ByteRate::bits_per_second;
        assert_eq!((rate(bits(60_000_000)), rate(bits(1_500))), ("60mbit".into(), "1500bit".into()));
        let millis = Duration::from_millis;
        assert_eq!((duration(millis(90_000)), duration(millis(1_500))), ("90s".into(), "1500ms".into()));
    }
}
