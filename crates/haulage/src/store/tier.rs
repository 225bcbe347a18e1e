//! Where a service keeps an object, and at what price: the access tiers of Azure and the storage classes of S3.
//!
//! Both are kept as the service writes them, so that between stores of one kind they stay as they are. Between the two kinds the
//! nearest is meant.

/// Azure's tiers, the storage class that is nearest to each, and whether bytes in it can be read at once.
const NEAREST: [(&str, &str, bool); 4] = [
    ("Hot", "STANDARD", true),
    ("Cool", "STANDARD_IA", true),
    ("Cold", "GLACIER_IR", true),
    ("Archive", "DEEP_ARCHIVE", false),
];

/// Other storage classes, the tier that is nearest to each, and whether bytes in it can be read at once. Those that belong to a kind
/// of bucket (of S3 Express, of Outposts) mean nothing elsewhere.
const CLASSES: [(&str, &str, bool); 4] = [
    ("REDUCED_REDUNDANCY", "Hot", true),
    ("ONEZONE_IA", "Cool", true),
    ("INTELLIGENT_TIERING", "Hot", true),
    ("GLACIER", "Archive", false),
];

/// The class that S3 means where none is named.
pub(super) const STANDARD: &str = "STANDARD";

/// Whether an object that lies in this tier or class takes it along to another store: one that is known, and from which it can be read
/// there.
pub(crate) fn travels(name: &str) -> bool {
    let tier = NEAREST.iter().find(|(tier, class, _)| tier.eq_ignore_ascii_case(name) || *class == name);
    let class = CLASSES.iter().find(|(class, ..)| *class == name);
    tier.or(class).is_some_and(|(.., at_once)| *at_once)
}

/// What Azure calls a tier or class; `None` for what it does not know.
pub(super) fn for_azure(name: &str) -> Option<&'static str> {
    let tier =
        NEAREST.iter().find(|(tier, class, _)| is(tier, name) || is(class, name)).map(|(tier, ..)| *tier);
    tier.or_else(|| CLASSES.iter().find(|(class, ..)| is(class, name)).map(|(_, tier, _)| *tier))
}

/// What S3 calls a tier or class. Services have classes of their own; what looks like one is left to the service.
pub(super) fn for_s3(name: &str) -> Option<String> {
    if let Some((_, class, _)) = NEAREST.iter().find(|(tier, ..)| is(tier, name)) {
        return Some((*class).to_owned());
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (!name.is_empty() && name.bytes().all(plain)).then(|| name.to_ascii_uppercase())
}

/// Whether this may be the name of one, at some service.
pub(crate) fn is_tier(name: &str) -> bool {
    for_s3(name).is_some()
}

/// Whether Azure has a tier for it.
pub(crate) fn is_tier_of_azure(name: &str) -> bool {
    for_azure(name).is_some()
}

fn is(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_gets_its_own_name_for_the_nearest() {
        for (name, azure, s3) in [
            ("cool", Some("Cool"), Some("STANDARD_IA")),
            ("Hot", Some("Hot"), Some("STANDARD")),
            ("ARCHIVE", Some("Archive"), Some("DEEP_ARCHIVE")),
            ("standard_ia", Some("Cool"), Some("STANDARD_IA")),
            ("ONEZONE_IA", Some("Cool"), Some("ONEZONE_IA")),
            ("GLACIER_IR", Some("Cold"), Some("GLACIER_IR")),
            ("GLACIER", Some("Archive"), Some("GLACIER")),
            ("EXPRESS_ONEZONE", None, Some("EXPRESS_ONEZONE")),
            ("two words", None, None),
            ("", None, None),
        ] {
            assert_eq!((for_azure(name), for_s3(name).as_deref()), (azure, s3), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_read_at_once_stays_behind() {
        for name in ["Hot", "Cool", "Cold", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR"]
        {
            assert!(travels(name), "{name}");
        }
        for name in ["Archive", "GLACIER", "DEEP_ARCHIVE", "EXPRESS_ONEZONE", "Premium", "?", ""] {
            assert!(!travels(name), "{name}");
        }
    }
}
