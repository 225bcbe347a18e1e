//! A secret of the configuration: where it is, and what of it nothing may show.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::secret;
use crate::variable::meant;

/// A secret as it stands in the file, or where else it is.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Secret {
    Plain(String),
    Env { env: String },
    File { file: String },
}

impl Secret {
    /// Reads it. It may hold line ends where a file does.
    pub(super) fn read(&self, name: &str) -> Result<String> {
        let missing = |cause: String| {
            Error::new(ErrorKind::Usage, "read the configuration", name, cause).hint(
                "set the variable or the file that it names, or write the secret into a file of mode 600",
            )
        };
        let text = match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env { env } => std::env::var(env).map_err(|_| missing(format!("{name}: {env} is not set"))),
            Self::File { file } => {
                let read = std::fs::read_to_string(file);
                read.map_err(|error| missing(format!("{name}: cannot read {file}: {error}")))
            }
        }?;
        let text = meant(&text).unwrap_or_default();
        hide(name, &text);
        Ok(text)
    }
}

/// Remembers what is secret of a setting, and nothing else of it: the host and the account of a connection string are in every
/// message about it.
fn hide(name: &str, text: &str) {
    let value = |line: &str, names: &[&str]| {
        let (name, value) = line.split_once('=')?;
        names.iter().any(|known| known.eq_ignore_ascii_case(name.trim())).then(|| value.trim().to_owned())
    };
    let secrets: Vec<String> = match name {
        // It stands in every signed URL.
        "access_key_id" => return,
        "connection_string" => {
            let parts = || text.split(';');
            let keys = parts().filter_map(|part| value(part, &["AccountKey"]));
            let sas = parts().filter_map(|part| value(part, &["SharedAccessSignature"]));
            let sas = sas.flat_map(|sas| signatures(&sas));
            keys.chain(sas).collect()
        }
        "sas_token" => signatures(text),
        _ => Vec::new(),
    };
    match secrets.is_empty() {
        // It is of another form than its name says, and may be all secret.
        true => secret::remember(text),
        false => secrets.iter().for_each(|one| secret::remember(one)),
    }
}

/// The signatures in a SAS, as they are written and as they are meant.
fn signatures(sas: &str) -> Vec<String> {
    let pairs = sas.trim_start_matches('?').split('&');
    let found = pairs.filter_map(|pair| pair.strip_prefix("sig=")).filter(|signature| !signature.is_empty());
    found.flat_map(|one| [one.to_owned(), percent_decode_str(one).decode_utf8_lossy().into_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Named for what was wrong: a refused endpoint was shown as REDACTED.
    #[test]
    fn only_what_is_secret_of_a_setting_is_hidden() {
        let connection = "DefaultEndpointsProtocol=https;AccountName=remotetestaccount;AccountKey=aHVzaC1odXNoLWh1c2gtcmVtb3Rl;BlobEndpoint=https://storage.remote-test.example:8443/remotetestaccount;";
        hide("connection_string", connection);
        hide(
            "connection_string",
            "BlobEndpoint=https://sas.remote-test.example;SharedAccessSignature=sv=2022-11-02&sig=c2lnbmF0dXJlLW9mLWEtcmVtb3Rl%3D",
        );
        hide("sas_token", "?sv=2022-11-02&srt=sco&sig=YW5vdGhlci1zaWduYXR1cmUtb2Y%2B");
        hide("access_key_id", "remotetestaccesskeyid");
        hide("secret_access_key", "hush-hush-access-key-of-s3");
        for shown in [
            "https://storage.remote-test.example:8443 is not among the allowed endpoints",
            "DefaultEndpointsProtocol=https;AccountName=remotetestaccount",
            "sas.remote-test.example",
            "sv=2022-11-02&srt=sco",
            "remotetestaccesskeyid",
        ] {
            assert_eq!(secret::redact(shown), shown);
        }
        for hidden in [
            "aHVzaC1odXNoLWh1c2gtcmVtb3Rl",
            "c2lnbmF0dXJlLW9mLWEtcmVtb3Rl",
            "YW5vdGhlci1zaWduYXR1cmUtb2Y+",
            "hush-hush-access-key-of-s3",
        ] {
            assert!(!secret::redact(&format!("got {hidden} here")).contains(hidden), "{hidden}");
        }
        // What is no connection string may be a key that was put into the wrong place.
        hide("connection_string", "bm8tY29ubmVjdGlvbi1zdHJpbmc=");
        assert!(!secret::redact("bm8tY29ubmVjdGlvbi1zdHJpbmc=").contains("bm8tY29u"));
    }
}
