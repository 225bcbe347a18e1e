use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::needle::hex;
use super::*;

const KEY: &str = "tHe+Key/of+an/account/that+nobody/else+may/know+at/all+0123456789ab==";

/// A key, a SAS signature and a token, as random as they are.
fn secrets() -> Vec<String> {
    let random = |seed, len: usize| {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..len).map(|_| random.u8(..)).collect::<Vec<u8>>()
    };
    let token = format!(
        "{}.{}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(random(3, 40)),
        BASE64_URL_SAFE_NO_PAD.encode(random(4, 700)),
        BASE64_URL_SAFE_NO_PAD.encode(random(5, 256))
    );
    vec![BASE64_STANDARD.encode(random(1, 64)), BASE64_STANDARD.encode(random(2, 32)), token]
}

fn mac(seed: u64) -> [u8; 32] {
    let mut random = fastrand::Rng::with_seed(seed);
    std::array::from_fn(|_| random.u8(..))
}

type Encoding = (&'static str, fn(&str) -> String);

fn each(text: &str, write: impl Fn(u8) -> String) -> String {
    text.bytes().map(write).collect()
}

/// Every second character escaped.
fn some(text: &str, write: impl Fn(u8) -> String) -> String {
    let write = |(at, byte)| if at % 2 == 0 { write(byte) } else { char::from(byte).to_string() };
    text.bytes().enumerate().map(write).collect()
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

const ENCODINGS: [Encoding; 34] = [
    ("plain", str::to_owned),
    ("without the end", |text| text.trim_end_matches('=').to_owned()),
    ("base64 for urls", |text| text.replace('+', "-").replace('/', "_")),
    ("escaped for urls", escaped),
    ("escaped twice", |text| escaped(&escaped(text))),
    ("escaped thrice", |text| escaped(&escaped(&escaped(text)))),
    ("all percent", |text| each(text, |byte| format!("%{byte:02x}"))),
    ("all percent twice", |text| each(text, |byte| format!("%25{byte:02X}"))),
    ("percent of percent", |text| each(text, |byte| each(&format!("%{byte:02X}"), |b| format!("%{b:02X}")))),
    ("some percent", |text| some(text, |byte| format!("%{byte:02X}"))),
    ("wide percent", |text| each(text, |byte| format!("%u{byte:04X}"))),
    ("json", |text| each(text, |byte| format!("\\u{byte:04X}"))),
    ("json in json", |text| each(text, |byte| format!("\\\\u{byte:04x}"))),
    ("some json", |text| some(text, |byte| format!("\\u{byte:04x}"))),
    ("slashes of json", |text| text.replace('/', "\\/")),
    ("c", |text| each(text, |byte| format!("\\x{byte:02x}"))),
    ("xml", |text| each(text, |byte| format!("&#{byte};"))),
    ("xml in xml", |text| each(text, |byte| format!("&amp;#x{byte:04X};"))),
    ("some xml", |text| some(text, |byte| format!("&#x{byte:x};"))),
    ("percent in xml", |text| escaped(text).replace('%', "&#37;")),
    ("xml in percent", |text| escaped(&each(text, |byte| format!("&#{byte};")))),
    ("spaces for plus", |text| text.replace('+', " ")),
    ("lines", |text| text.as_bytes().chunks(10).map(|line| String::from_utf8_lossy(line) + "\r\n").collect()),
    ("hex", |text| hex(text.as_bytes())),
    ("large hex", |text| hex(text.as_bytes()).to_uppercase()),
    ("hex in pairs", |text| each(text, |byte| format!("{byte:02x} "))),
    ("hex with colons", |text| each(text, |byte| format!("{byte:02X}:"))),
    ("hex as numbers", |text| each(text, |byte| format!("0x{byte:02X}, "))),
    ("hex of hex", |text| hex(hex(text.as_bytes()).as_bytes())),
    ("base64 of hex", |text| BASE64_STANDARD.encode(hex(text.as_bytes()))),
    ("base64 of percent", |text| BASE64_STANDARD.encode(escaped(text))),
    ("base64 of json", |text| BASE64_STANDARD.encode(each(text, |byte| format!("\\u{byte:04x}")))),
    ("percent of base64", |text| each(&BASE64_STANDARD.encode(text), |byte| format!("%{byte:02x}"))),
    ("base64 in lines", |text| {
        BASE64_STANDARD
            .encode(text)
            .as_bytes()
            .chunks(19)
            .map(|l| String::from_utf8_lossy(l) + "\n")
            .collect()
    }),
];

/// Base64 of texts around it, once and twice, at any place.
fn wrapped(text: &str) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(9);
    let mut around = |text: &str| {
        let letters =
            |random: &mut fastrand::Rng| (0..random.usize(..9)).map(|_| random.alphabetic()).collect();
        let (before, after): (String, String) = (letters(&mut random), letters(&mut random));
        format!("{before} {text} {after}")
    };
    let mut all = Vec::new();
    for _ in 0..12 {
        let once = BASE64_STANDARD.encode(around(text));
        all.push(BASE64_URL_SAFE_NO_PAD.encode(around(&once)));
        all.push(BASE64_STANDARD.encode(once.trim_end_matches('=')));
        all.push(hex(once.as_bytes()));
        all.push(BASE64_STANDARD.encode(hex(around(text).as_bytes())));
        all.push(once);
    }
    all
}

/// Everything that a text may say, by other means than the code that is tested.
fn says_part_of(text: &str, secret: &str, encode: fn(&str) -> String) -> bool {
    let parts = |whole: &str, len: usize| {
        (0..=whole.len().saturating_sub(len))
            .filter_map(|at| whole.get(at..at + len).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    parts(secret, 16).iter().any(|part| text.contains(part) || text.contains(&encode(part)))
}

#[test]
fn no_part_of_a_secret_survives_in_any_encoding() {
    let secrets = secrets();
    for secret in &secrets {
        remember(secret);
    }
    for secret in &secrets {
        for whole in [&secret[..], &secret[..30], &secret[13..29], &secret[secret.len() - 25..]] {
            for (name, encode) in ENCODINGS {
                let form = encode(whole);
                for said in [format!("no such thing: <{form}>"), format!("x?sig={form}&sp=r"), form.clone()] {
                    let clean = redact(&said);
                    assert!(clean.contains(REDACTED), "{name} of {whole}: {clean}");
                    assert!(!says_part_of(&clean, whole, encode), "{name} of {whole}: {clean}");
                }
            }
            for form in wrapped(whole) {
                assert_eq!(redact(&format!("echo: {form}.")), "echo: REDACTED", "{whole}");
                // Tokens are not looked for in every name as deep as that.
                let hidden = redact_name(&format!("a/{form}")).contains(REDACTED);
                assert!(hidden || secret.len() > 256, "{whole}: {form}");
            }
        }
    }
}

#[test]
fn no_part_of_a_signature_survives_in_any_encoding() {
    let mac = mac(77);
    remember_mac(mac);
    let text = BASE64_STANDARD.encode(mac);
    for whole in [&text[..], &text[..16], &text[11..30], &text[25..41]] {
        for (name, encode) in ENCODINGS {
            let form = encode(whole);
            for said in [format!("no such thing: <{form}>"), format!("SharedKey acc:{form}"), form.clone()] {
                let clean = redact(&said);
                assert!(clean.contains(REDACTED), "{name} of {whole}: {clean}");
                assert!(!says_part_of(&clean, whole, encode), "{name} of {whole}: {clean}");
            }
        }
        for form in wrapped(whole) {
            assert_eq!(redact(&format!("echo: {form}.")), "echo: REDACTED", "{whole}");
        }
    }
    for form in [hex(&mac), hex(&mac).to_uppercase(), hex(&mac[5..20])] {
        assert_eq!(redact(&format!("the MAC {form} is wrong")), "the MAC REDACTED is wrong");
    }
}

#[test]
fn a_page_that_repeats_a_signature_is_found() {
    let mac = mac(78);
    let signature = BASE64_STANDARD.encode(mac);
    let echo = Signature::new(&signature);
    let page = |said: &str| format!("<Name>{said}</Name>").repeat(3).into_bytes();
    for whole in [&signature[..], &signature[..16], &signature[14..30], &signature[27..43]] {
        for (name, encode) in ENCODINGS {
            // Lines and spaces within are what a page of names cannot have.
            let form = encode(whole);
            if !form.contains([' ', '\n']) && !["hex with colons", "base64 of json"].contains(&name) {
                assert!(echo.is_in(&page(&form)), "{name} of {whole}");
            }
        }
        for form in wrapped(whole) {
            assert!(echo.is_in(&page(&form)), "{whole}: {form}");
        }
    }
    assert!(echo.is_in(&page(&hex(&mac))));
    assert!(!echo.is_in(&page("tas.nc")));
    assert!(!echo.is_in(&page(&BASE64_STANDARD.encode([3; 32]))));
    assert!(!echo.is_in(&page(&signature[..12])));
}

#[test]
fn other_texts_stay_as_they_are() {
    for secret in &secrets() {
        remember(secret);
    }
    remember(KEY);
    remember_mac([7; 32]);
    for text in [
        "",
        "az://climate/tas.nc",
        "model/output/of/a/run/with/a/rather/long/name=1/tas_day_x.nc",
        "0x8DE",
        "0x8DCA1B2C3D4E5F6",
        "a/100%25 sure/b%2Bc &amp; \\\\server\\u0041.nc",
        "application/octet-stream",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "VGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZw==",
        "The specified blob does not exist.\nRequestId:0f8fad5b-d9cb-469f-a165-70867728950e\nTime:2026-11-22",
        "ünïcödé/名前/file.nc",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        assert!(matches!(redact_name(text), Cow::Borrowed(same) if same == text), "{text}");
    }
    remember("short");
    assert_eq!(redact("a short word"), "a short word");
}

#[test]
fn a_short_secret_is_found_as_a_whole() {
    remember("pa55+w0/rd");
    for said in ["pa55+w0/rd", "PA55+W0/RD", "pa55%2Bw0%2frd", "cGE1NSt3MC9yZA==", "706135352b77302f7264"] {
        assert_eq!(redact(&format!("it was {said}!")), "it was REDACTED!");
    }
    assert_eq!(redact("it was pa55+w0!"), "it was pa55+w0!");
}

#[test]
fn the_case_of_a_secret_does_not_matter() {
    remember(KEY);
    for form in [KEY.to_lowercase(), KEY.to_uppercase()] {
        assert_eq!(redact_name(&format!("x?sig={form}&sp=r")), "x?REDACTED&sp=r");
    }
}

#[test]
fn the_signature_of_a_request_is_found_until_it_is_old() {
    // Apart from the signatures of the process, which other tests look for.
    let mut macs = Macs::default();
    let first = mac(79);
    let base64 = BASE64_STANDARD.encode(first);
    macs.add(first);
    macs.add(first);
    for number in 1..macs::KEPT as u64 {
        macs.add(mac(1000 + number));
    }
    assert!(macs.are_in(base64.as_bytes()));
    macs.add(mac(80));
    assert!(!macs.are_in(base64.as_bytes()));
    assert!(macs.are_in(BASE64_STANDARD.encode(mac(80)).as_bytes()));
    // What they are found by is made anew when as many have gone.
    for number in 0..2 * macs::KEPT as u64 {
        macs.add(mac(10_000 + number));
        assert!(macs.are_in(BASE64_STANDARD.encode(mac(10_000 + number)).as_bytes()));
    }
    let kept = mac(10_000 + macs::KEPT as u64);
    assert!(macs.are_in(BASE64_STANDARD.encode(kept).as_bytes()));
    assert!(!macs.are_in(BASE64_STANDARD.encode(mac(80)).as_bytes()));
}

#[test]
fn a_long_text_is_cut() {
    remember(KEY);
    let long = "é".repeat(TEXT_MAX);
    let clean = redact(&long);
    assert!(clean.len() <= TEXT_MAX + CUT.len() && clean.ends_with(CUT));
    assert!(redacted(format!("{long}{KEY}")).ends_with(CUT));
    assert!(redact(&format!("{KEY} {long}")).starts_with("REDACTED é"));
}

#[test]
fn a_request_id_hides_a_secret_no_better_than_any_text() {
    let key = "a secret of 24 letters!!";
    remember(key);
    remember_mac(mac(77));
    let uuid = |digits: &str| {
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32]];
        parts.join("-")
    };
    for hidden in [
        hex(&key.as_bytes()[..16]),
        hex(&mac(77)[..16]),
        format!("{}{}", "0".repeat(16), hex(&mac(77)[3..11])),
    ] {
        for id in [uuid(&hidden), uuid(&hidden.to_uppercase())] {
            assert_eq!(redacted_id(id.clone()), redacted(id.clone()));
            assert_ne!(redacted_id(id.clone()), id);
        }
    }
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..2000 {
        let id = uuid(&hex(&std::array::from_fn::<u8, 16, _>(|_| random.u8(..))));
        assert_eq!(redacted(id.clone()), id);
        assert_eq!(redacted_id(id.clone()), id);
    }
    assert_eq!(redacted_id(key.to_owned()), REDACTED);
}
