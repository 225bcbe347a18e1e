//! The service as a whole: its settings, and how far its other half is.

use std::fmt::Write as _;
use std::time::SystemTime;

use bytes::Bytes;
use http::StatusCode;

use super::Reply;
use crate::service::Service;
use crate::wire::error::INVALID_XML;
use crate::wire::node::Node;
use crate::wire::reply::{reply, xml};
use crate::wire::time::Stamp;
use crate::wire::xml::{DECLARATION, Escaped};

const MOST_RULES: usize = 5;

/// Who may ask from a page of another origin, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CorsRule {
    pub(super) origins: Vec<String>,
    pub(super) methods: Vec<String>,
    pub(super) allowed_headers: Vec<String>,
    pub(super) exposed_headers: Vec<String>,
    pub(super) max_age: String,
}

/// The service's settings. Logging and metrics are kept and told, and do nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    kept: Vec<Node>,
    pub(super) cors: Vec<CorsRule>,
}

/// The settings that are kept as they were sent, with what they are at first.
const KEPT: [(&str, &str); 3] = [
    (
        "Logging",
        "<Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>\
         <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>",
    ),
    (
        "HourMetrics",
        "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>",
    ),
    (
        "MinuteMetrics",
        "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>",
    ),
];

fn rule(node: &Node) -> Option<CorsRule> {
    let list = |name| -> Vec<String> {
        let text = node.text_of(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let rule = CorsRule {
        origins: list("AllowedOrigins"),
        methods: list("AllowedMethods"),
        allowed_headers: list("AllowedHeaders"),
        exposed_headers: list("ExposedHeaders"),
        max_age: node.text_of("MaxAgeInSeconds").unwrap_or("0").trim().to_owned(),
    };
    let whole = rule.max_age.parse::<u32>().is_ok();
    (whole && !rule.origins.is_empty() && !rule.methods.is_empty()).then_some(rule)
}

/// Changes what the document names and leaves the rest as it is.
pub(super) fn set_properties(service: &Service, body: &[u8]) -> Reply {
    let root = Node::parse(&Bytes::copy_from_slice(body), "StorageServiceProperties").ok_or(&INVALID_XML)?;
    let rules: Option<Option<Vec<CorsRule>>> =
        root.first("Cors").map(|cors| cors.all("CorsRule").map(rule).collect());
    let mut properties = service.tables.properties_mut();
    match rules {
        Some(Some(rules)) if rules.len() <= MOST_RULES => properties.cors = rules,
        Some(_) => return Err((&INVALID_XML).into()),
        None => {}
    }
    for (name, _) in KEPT {
        if let Some(node) = root.first(name) {
            properties.kept.retain(|kept| kept.name != name);
            properties.kept.push(node.clone());
        }
    }
    Ok(reply(StatusCode::ACCEPTED))
}

fn push(text: &mut String, node: &Node) {
    let name = &node.name;
    // Writing to a String cannot fail, here and below.
    let _ = write!(text, "<{name}>");
    if node.children.is_empty() {
        let _ = write!(text, "{}", Escaped(node.text()));
    }
    node.children.iter().for_each(|child| push(text, child));
    let _ = write!(text, "</{name}>");
}

pub(super) fn properties(service: &Service) -> Reply {
    let properties = service.tables.properties();
    let mut text = format!("{DECLARATION}<StorageServiceProperties>");
    for (name, at_first) in KEPT {
        match properties.kept.iter().find(|kept| kept.name == name) {
            Some(node) => push(&mut text, node),
            None => drop(write!(text, "<{name}>{at_first}</{name}>")),
        }
    }
    text.push_str("<Cors>");
    for rule in &properties.cors {
        text.push_str("<CorsRule>");
        for (name, list) in [
            ("AllowedOrigins", &rule.origins),
            ("AllowedMethods", &rule.methods),
            ("AllowedHeaders", &rule.allowed_headers),
            ("ExposedHeaders", &rule.exposed_headers),
        ] {
            let _ = write!(text, "<{name}>{}</{name}>", Escaped(&list.join(",")));
        }
        let _ = write!(text, "<MaxAgeInSeconds>{}</MaxAgeInSeconds></CorsRule>", rule.max_age);
    }
    text.push_str("</Cors></StorageServiceProperties>");
    Ok(xml(text))
}

/// The other half is here as well, and has everything.
pub(super) fn stats() -> Reply {
    let now = Stamp::from(SystemTime::now()).http();
    Ok(xml(format!(
        "{DECLARATION}<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>{now}</LastSyncTime>\
         </GeoReplication></StorageServiceStats>"
    )))
}
