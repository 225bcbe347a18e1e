//! Faults by share of requests, the same ones for the same seed.
//!
//! Only requests that move data are touched: Put Blob, Put Block, Put Block List, Get Blob and
//! List, PutObject, UploadPart, CompleteMultipartUpload, GetObject and ListObjects, and all that reads or writes
//! entities of tables. A flip touches only the bytes of blobs, never XML, because no checksum of the service
//! guards a list. The nth such request meets the same fault on every run; under concurrency it
//! is the order of arrival that decides which request is the nth.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haulage::units::parse_duration;
use haulage::{Error, ErrorKind};
use tokio::time::Instant;

use crate::link::print_duration;

const GRAMMAR: &str = "write something like busy=5%,cut=5%,stall=1%,flip=1%,seed=7";

/// Which share of requests meets which fault, and how slow the service is by itself. Parses
/// `busy=5%,cut=5%,stall=1%,flip=1%,commit=200ms,seed=7` or `none`; shares are in percent and may
/// not exceed 100 % together.
///
/// ```
/// use haulage_emulator::FaultSpec;
/// let faults: FaultSpec = "busy=5%,seed=7".parse().unwrap();
/// assert_eq!(faults.to_string(), "busy=5%,seed=7");
/// assert!("busy=5".parse::<FaultSpec>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// Share answered 503 (ServerBusy, or S3's SlowDown) once the request's body has arrived, in percent.
    /// Every second one carries `Retry-After: 1`.
    pub busy: f64,
    /// Share whose connection is reset in the midst of a body, in percent.
    pub cut: f64,
    /// Share that stops moving in the midst of a body until the client gives up, in percent.
    pub stall: f64,
    /// Share with one bit of the blob's bytes flipped on the way, in percent: before the
    /// checksum is compared on the way in, after it was computed on the way out.
    pub flip: f64,
    /// Share whose effect is done and whose answer is lost with the connection, in percent.
    pub lost: f64,
    /// Share of downloads whose body ends early and the connection with it, without a reset, in percent.
    pub truncate: f64,
    /// Share of downloads of which fewer bytes come than were asked for, and the length says so, in percent.
    pub short: f64,
    /// Share whose answer states a wrong checksum, in percent.
    pub checksum: f64,
    /// Each commit (Put Blob, Put Block List, PutObject, CompleteMultipartUpload) takes this long.
    pub commit: Duration,
    /// Requests are handled one after another, and each takes this long: a server with a single thread.
    pub serial: Duration,
    /// Requests a second that are taken, together; what is above it is answered like `busy`, without a `Retry-After`. 0 is no bound.
    pub rate: u32,
    /// Share of the pages of entities that are empty and yet go on, in percent; below 100.
    pub empty: f64,
    /// Share of the pages of entities that end with the partition they began with, in percent. Every second one does
    /// not say the RowKey with which the next begins.
    pub boundary: f64,
    /// Each page of entities ends after this long. 0 is the service's five seconds.
    pub page: Duration,
    /// Each page of entities ends after so many were looked at. 0 is no bound.
    pub scan: u32,
    /// Seeds which requests are hit, and where.
    pub seed: u64,
}

impl FaultSpec {
    /// Whether nothing ever goes wrong and nothing is slow.
    pub fn is_none(&self) -> bool {
        let pages = self.page_shares().iter().any(|(_, share)| *share > 0.0) || self.scan > 0;
        !self.strikes()
            && !pages
            && self.rate == 0
            && self.durations().iter().all(|(_, duration)| duration.is_zero())
    }

    /// Whether any request meets a fault.
    fn strikes(&self) -> bool {
        self.shares().iter().any(|(_, share)| *share > 0.0)
    }

    fn shares(&self) -> [(&'static str, f64); 8] {
        [
            ("busy", self.busy),
            ("cut", self.cut),
            ("stall", self.stall),
            ("flip", self.flip),
            ("lost", self.lost),
            ("truncate", self.truncate),
            ("short", self.short),
            ("checksum", self.checksum),
        ]
    }

    fn page_shares(&self) -> [(&'static str, f64); 2] {
        [("empty", self.empty), ("boundary", self.boundary)]
    }

    fn durations(&self) -> [(&'static str, Duration); 3] {
        [("commit", self.commit), ("serial", self.serial), ("page", self.page)]
    }

    fn numbers(&self) -> [(&'static str, u32); 2] {
        [("rate", self.rate), ("scan", self.scan)]
    }
}

impl FromStr for FaultSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |cause: String| Error::new(ErrorKind::Usage, "parse faults", text, cause).hint(GRAMMAR);
        let mut spec = Self::default();
        if matches!(text, "" | "none") {
            return Ok(spec);
        }
        let mut seen = Vec::new();
        for item in text.split(',') {
            let Some((key, value)) = item.split_once('=') else {
                return Err(bad(format!("'{item}' is not name=value")));
            };
            if seen.contains(&key) {
                return Err(bad(format!("'{key}' is given twice")));
            }
            seen.push(key);
            let share = match key {
                "busy" => &mut spec.busy,
                "cut" => &mut spec.cut,
                "stall" => &mut spec.stall,
                "flip" => &mut spec.flip,
                "lost" => &mut spec.lost,
                "truncate" => &mut spec.truncate,
                "short" => &mut spec.short,
                "checksum" => &mut spec.checksum,
                "empty" => &mut spec.empty,
                "boundary" => &mut spec.boundary,
                "commit" | "serial" | "page" => {
                    let duration = parse_duration(value)?;
                    *(match key {
                        "commit" => &mut spec.commit,
                        "serial" => &mut spec.serial,
                        _ => &mut spec.page,
                    }) = duration;
                    continue;
                }
                "seed" => {
                    spec.seed = value.parse().map_err(|_| bad(format!("'{value}' is no whole number")))?;
                    continue;
                }
                "rate" | "scan" => {
                    let what = if key == "rate" { "requests a second" } else { "entities a page" };
                    let number = value.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or_else(|| bad(format!("'{value}' is no number of {what}")))?;
                    *(if key == "rate" { &mut spec.rate } else { &mut spec.scan }) = number;
                    continue;
                }
                _ => return Err(bad(format!("no fault is called '{key}'"))),
            };
            *share = value
                .strip_suffix('%')
                .and_then(|number| number.trim().parse().ok())
                .filter(|share| (0.0..=100.0).contains(share))
                .ok_or_else(|| bad(format!("'{value}' is no share from 0% to 100%")))?;
        }
        if spec.shares().iter().map(|(_, share)| share).sum::<f64>() > 100.0 + 1e-9 {
            return Err(bad("the shares exceed 100 % together".to_owned()));
        }
        if spec.empty >= 100.0 {
            return Err(bad("if every page were empty, no list would end".to_owned()));
        }
        Ok(spec)
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        let mut comma = "";
        for (name, share) in
            self.shares().into_iter().chain(self.page_shares()).filter(|(_, share)| *share > 0.0)
        {
            write!(f, "{comma}{name}={share}%")?;
            comma = ",";
        }
        for (name, duration) in self.durations().into_iter().filter(|(_, duration)| !duration.is_zero()) {
            write!(f, "{comma}{name}={}", print_duration(duration))?;
            comma = ",";
        }
        for (name, number) in self.numbers().into_iter().filter(|(_, number)| *number > 0) {
            write!(f, "{comma}{name}={number}")?;
            comma = ",";
        }
        if self.seed != 0 { write!(f, ",seed={}", self.seed) } else { Ok(()) }
    }
}

/// What faults and slowness go by: how a request moves data, through whichever interface it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Faults may strike it.
    pub(crate) moves_data: bool,
    /// Its body is a blob's bytes, which a checksum can guard.
    pub(crate) carries_blob_bytes: bool,
    /// It makes a blob.
    pub(crate) commits: bool,
    /// The data are in the request.
    pub(crate) is_upload: bool,
}

impl Nature {
    /// Whether a blob's bytes are in the answer.
    pub(crate) fn is_download(self) -> bool {
        self.carries_blob_bytes && !self.is_upload
    }
}

/// What happens to one request. Positions are shares of the body, from 0 to below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Busy { retry_after: bool },
    Cut { position: f64 },
    Stall { position: f64 },
    Flip { position: f64, bit: u8 },
    Lost,
    Truncate { position: f64 },
    Short { position: f64 },
    Checksum,
}

/// How a page of entities ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageFault {
    /// It holds nothing.
    pub(crate) empty: bool,
    /// It ends with the partition that it began with.
    pub(crate) boundary: bool,
    /// Where the next page begins with a partition, only that is said.
    pub(crate) bare: bool,
    /// It looks at so many entities at most.
    pub(crate) scan: Option<u32>,
    /// It takes so long at most.
    pub(crate) time: Option<Duration>,
}

/// Deals the faults out.
#[derive(Debug)]
pub(crate) struct FaultPlan {
    spec: FaultSpec,
    dealt: AtomicU64,
    pages: AtomicU64,
    allowance: Mutex<Allowance>,
}

impl FaultPlan {
    pub(crate) fn new(spec: FaultSpec) -> Self {
        let allowance = Mutex::new(Allowance::new(spec.rate, Instant::now()));
        Self { spec, dealt: AtomicU64::new(0), pages: AtomicU64::new(0), allowance }
    }

    /// The fate of the next request.
    pub(crate) fn deal(&self) -> Option<Fault> {
        if self.spec.rate > 0 {
            let mut allowance = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
            if !allowance.takes(Instant::now()) {
                return Some(Fault::Busy { retry_after: false });
            }
        }
        if !self.spec.strikes() {
            return None;
        }
        decide(&self.spec, self.dealt.fetch_add(1, Ordering::Relaxed))
    }

    /// How the next page of entities ends.
    pub(crate) fn deal_page(&self) -> PageFault {
        end_of_page(&self.spec, self.pages.fetch_add(1, Ordering::Relaxed))
    }
}

/// How the `nth` page of entities ends: a pure function, as well.
fn end_of_page(spec: &FaultSpec, nth: u64) -> PageFault {
    let mut random = fastrand::Rng::with_seed(!spec.seed ^ nth.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    PageFault {
        empty: random.f64() * 100.0 < spec.empty,
        boundary: random.f64() * 100.0 < spec.boundary,
        bare: random.bool(),
        scan: (spec.scan > 0).then_some(spec.scan),
        time: (!spec.page.is_zero()).then_some(spec.page),
    }
}

/// How many requests a service still takes: those of a second may come at once.
#[derive(Debug)]
struct Allowance {
    a_second: f64,
    left: f64,
    counted: Instant,
}

impl Allowance {
    fn new(rate: u32, now: Instant) -> Self {
        Self { a_second: rate.into(), left: rate.into(), counted: now }
    }

    fn takes(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.counted).as_secs_f64();
        self.counted = now;
        self.left = (self.left + passed * self.a_second).min(self.a_second);
        let taken = self.left >= 1.0;
        self.left -= f64::from(u8::from(taken));
        taken
    }
}

/// The fate of the `nth` request: a pure function, so that a run can be repeated.
fn decide(spec: &FaultSpec, nth: u64) -> Option<Fault> {
    let mut random = fastrand::Rng::with_seed(spec.seed ^ nth.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (mut left, position, word) = (random.f64() * 100.0, random.f64(), random.u8(..));
    let mut hit = |share: f64| {
        let is_hit = left < share;
        left -= share;
        is_hit
    };
    if hit(spec.busy) {
        Some(Fault::Busy { retry_after: word % 2 == 0 })
    } else if hit(spec.cut) {
        Some(Fault::Cut { position })
    } else if hit(spec.stall) {
        Some(Fault::Stall { position })
    } else if hit(spec.flip) {
        Some(Fault::Flip { position, bit: word % 8 })
    } else if hit(spec.lost) {
        Some(Fault::Lost)
    } else if hit(spec.truncate) {
        Some(Fault::Truncate { position })
    } else if hit(spec.short) {
        Some(Fault::Short { position })
    } else if hit(spec.checksum) {
        Some(Fault::Checksum)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_parse_and_print_back() {
        for text in [
            "none",
            "busy=5%,cut=5%,stall=1%,flip=1%,seed=7",
            "lost=1%,truncate=1%,short=1%,checksum=1%",
            "flip=0.25%",
            "cut=100%",
            "commit=200ms,serial=5ms",
            "busy=1%,commit=2s,seed=3",
            "rate=500",
            "cut=1%,commit=2s,rate=20,seed=3",
            "empty=20%,boundary=50%,page=5ms,scan=500",
        ] {
            assert_eq!(text.parse::<FaultSpec>().unwrap().to_string(), text);
        }
        for bad in [
            "busy",
            "busy=5",
            "busy=101%",
            "busy=-1%",
            "busy=60%,cut=60%",
            "odd=1%",
            "seed=x",
            "rate=0",
            "rate=5%",
            "scan=0",
            "empty=100%",
            "busy=NaN%",
            "cut=1%,cut=2%",
        ] {
            let error = bad.parse::<FaultSpec>().unwrap_err();
            assert_eq!(error.hint_text(), Some(GRAMMAR), "{bad}");
        }
    }

    #[test]
    fn the_same_seed_deals_the_same_faults() {
        let spec: FaultSpec = "busy=5%,cut=5%,stall=5%,flip=5%,seed=7".parse().unwrap();
        let run = |spec| (0..500).map(|nth| decide(&spec, nth)).collect::<Vec<_>>();
        assert_eq!(run(spec), run(spec));
        assert_ne!(run(spec), run(FaultSpec { seed: 8, ..spec }));
    }

    #[test]
    fn no_more_are_taken_than_the_rate() {
        let now = Instant::now();
        let mut allowance = Allowance::new(500, now);
        // Ten seconds in which four times as many come.
        let taken = (0..20_000).filter(|n| allowance.takes(now + Duration::from_micros(500 * n))).count();
        assert!((5_495..=5_505).contains(&taken), "{taken} taken");
    }

    #[test]
    fn shares_are_kept() {
        let spec: FaultSpec = "busy=10%,cut=20%,seed=1".parse().unwrap();
        let faults: Vec<_> = (0..20_000).filter_map(|nth| decide(&spec, nth)).collect();
        let cuts = faults.iter().filter(|fault| matches!(fault, Fault::Cut { .. })).count();
        assert!((3_800..4_200).contains(&cuts), "{cuts} cuts");
        assert!((5_700..6_300).contains(&faults.len()), "{} faults", faults.len());
    }
}
