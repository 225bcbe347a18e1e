//! Questions about the account and its service.

use http::StatusCode;

use super::Reply;
use super::headers::{reply, set, xml};
use crate::wire::xml::DECLARATION;

/// What AzCopy and the SDKs ask before they choose how to work.
pub(super) fn information() -> Reply {
    let mut response = reply(StatusCode::OK);
    let headers = response.headers_mut();
    set(headers, "x-ms-sku-name", "Standard_LRS");
    set(headers, "x-ms-account-kind", "StorageV2");
    set(headers, "x-ms-is-hns-enabled", "false");
    Ok(response)
}

/// The service's settings: all at rest.
pub(super) fn service_properties() -> Reply {
    const OFF: &str = "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
    Ok(xml(format!(
        "{DECLARATION}<StorageServiceProperties><Logging><Version>1.0</Version><Delete>false</Delete>\
         <Read>false</Read><Write>false</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>\
         </Logging><HourMetrics>{OFF}</HourMetrics><MinuteMetrics>{OFF}</MinuteMetrics><Cors />\
         <DefaultServiceVersion>2025-11-05</DefaultServiceVersion><DeleteRetentionPolicy>\
         <Enabled>false</Enabled></DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled>\
         </StaticWebsite></StorageServiceProperties>"
    )))
}
