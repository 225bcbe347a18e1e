//! Index tags and access tiers, asked for over the wire.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haulage_emulator::{Emulator, StoreKind};
use http::Method;

use crate::support::{Answer, Client, memory, serve};

const BLOCK_BLOB: (&str, &str) = ("x-ms-blob-type", "BlockBlob");
const TWO_TAGS: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Tags><TagSet><Tag><Key>status</Key>\
                        <Value>done</Value></Tag><Tag><Key>a b</Key><Value></Value></Tag></TagSet></Tags>";

async fn put(client: &mut Client, name: &str, headers: &[(&str, &str)]) -> Answer {
    let headers: Vec<_> = headers.iter().copied().chain([BLOCK_BLOB]).collect();
    client.send(Method::PUT, &format!("/box/{name}"), &headers, "hello").await
}

async fn put_tagged(client: &mut Client, name: &str, tags: &str) -> Answer {
    put(client, name, &[("x-ms-tags", tags)]).await
}

async fn set_tags(client: &mut Client, name: &str, body: &str) -> Answer {
    client.send(Method::PUT, &format!("/box/{name}?comp=tags"), &[], body.to_owned()).await
}

/// The tags as `key=value`, in their order.
async fn tags(client: &mut Client, name: &str) -> Vec<String> {
    let got = client.get(&format!("/box/{name}?comp=tags")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let text = got.text().replace("<Value />", "<Value></Value>");
    let tags = text.split("<Tag>").skip(1).map(|tag| {
        let between =
            |element: &str| tag.split(element).nth(1).unwrap().split('<').next().unwrap().to_owned();
        format!("{}={}", between("<Key>"), between("<Value>"))
    });
    tags.collect()
}

async fn set_tier(client: &mut Client, name: &str, tier: &str) -> Answer {
    client.send(Method::PUT, &format!("/box/{name}?comp=tier"), &[("x-ms-access-tier", tier)], "").await
}

/// The tier as a HEAD has it, and whether it was inferred.
async fn tier(client: &mut Client, name: &str) -> (String, bool) {
    let head = client.send(Method::HEAD, &format!("/box/{name}"), &[], "").await;
    (head.header("x-ms-access-tier").to_owned(), head.header("x-ms-access-tier-inferred") == "true")
}

async fn copy(client: &mut Client, from: &str, to: &str, headers: &[(&str, &str)]) -> Answer {
    let source = format!("http://localhost/devstoreaccount1/box/{from}");
    let headers: Vec<_> = headers.iter().copied().chain([("x-ms-copy-source", &*source)]).collect();
    client.send(Method::PUT, &format!("/box/{to}"), &headers, "").await
}

fn named(tier: &str) -> (String, bool) {
    (tier.to_owned(), false)
}

#[tokio::test]
async fn tags_are_set_with_a_write_and_alone() {
    let (_emulator, mut client) = memory().await;
    assert_eq!(put_tagged(&mut client, "a", "project=alpha&a+b=x%2By").await.status, 201);
    assert_eq!(tags(&mut client, "a").await, ["project=alpha", "a b=x+y"]);
    client.put_block("b", "QUFB", "x").await;
    let list = "<BlockList><Latest>QUFB</Latest></BlockList>";
    let commit = client.send(Method::PUT, "/box/b?comp=blocklist", &[("x-ms-tags", "k=v")], list).await;
    assert_eq!(commit.status, 201);
    assert_eq!(tags(&mut client, "b").await, ["k=v"]);

    let before = client.send(Method::HEAD, "/box/a", &[], "").await;
    assert_eq!(before.header("x-ms-tag-count"), "2");
    assert_eq!(set_tags(&mut client, "a", TWO_TAGS).await.status, 204);
    assert_eq!(tags(&mut client, "a").await, ["status=done", "a b="]);
    let after = client.get("/box/a").await;
    assert_eq!((after.header("etag"), after.header("x-ms-tag-count")), (before.header("etag"), "2"));
    let metadata = [("x-ms-meta-k", "v")];
    assert_eq!(client.send(Method::PUT, "/box/a?comp=metadata", &metadata, "").await.status, 200);
    assert_eq!(tags(&mut client, "a").await.len(), 2, "metadata took the tags away");
    assert_eq!(set_tags(&mut client, "a", "<Tags><TagSet /></Tags>").await.status, 204);
    assert_eq!(client.get("/box/a").await.header("x-ms-tag-count"), "");
    set_tags(&mut client, "a", TWO_TAGS).await;
    client.put("a", "again").await;
    assert_eq!(tags(&mut client, "a").await, [""; 0], "a new version has its own tags");
}

#[tokio::test]
async fn tags_that_the_service_would_refuse_are_refused() {
    let (_emulator, mut client) = memory().await;
    for (sent, code) in [("=x", "EmptyTagName"), ("a=1&a=2", "DuplicateTagNames"), ("a=%C3%BC", "InvalidTag")]
    {
        let refused = put_tagged(&mut client, "a", sent).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (400, code));
    }
    assert_eq!(client.get("/box/a").await.code(), "BlobNotFound");
    client.put("a", "x").await;
    assert_eq!(set_tags(&mut client, "a", "<Tags>").await.code(), "InvalidXmlDocument");
    assert_eq!(set_tags(&mut client, "none", TWO_TAGS).await.code(), "BlobNotFound");
    assert_eq!(client.get("/box/none?comp=tags").await.code(), "BlobNotFound");
}

#[tokio::test]
async fn copies_have_their_own_tags_unless_they_ask_for_the_sources() {
    let (_emulator, mut client) = memory().await;
    put_tagged(&mut client, "a", "k=old").await;
    let none: &[(&str, &str)] = &[];
    let own: &[(&str, &str)] = &[("x-ms-tags", "k=new")];
    let of_source: &[(&str, &str)] = &[("x-ms-copy-source-tag-option", "COPY")];
    for (headers, expected) in [(none, &[][..]), (own, &["k=new"][..]), (of_source, &["k=old"][..])] {
        assert_eq!(copy(&mut client, "a", "b", headers).await.status, 202);
        assert_eq!(tags(&mut client, "b").await, expected);
    }
    let both = copy(&mut client, "a", "b", &[own[0], of_source[0]]).await;
    assert_eq!((both.status.as_u16(), both.code()), (400, "BothUserTagsAndSourceTagsCopyPresentException"));
    let missed = copy(&mut client, "a", "b", &[("x-ms-source-if-tags", "k = 'new'")]).await;
    assert_eq!(missed.code(), "SourceConditionNotMet");
}

#[tokio::test]
async fn conditions_on_tags_guard_reads_and_writes() {
    let (_emulator, mut client) = memory().await;
    put_tagged(&mut client, "a", "status=done").await;
    let (met, missed) = (("x-ms-if-tags", "\"status\" = 'done'"), ("x-ms-if-tags", "\"status\" <> 'done'"));
    assert_eq!(client.send(Method::GET, "/box/a", &[met], "").await.text(), "hello");
    let refused = client.send(Method::GET, "/box/a", &[missed], "").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (412, "ConditionNotMet"));
    let tags = client.send(Method::PUT, "/box/a?comp=tags", &[missed], TWO_TAGS).await;
    assert_eq!(tags.status, 412);
    assert_eq!(client.send(Method::DELETE, "/box/a", &[missed], "").await.status, 412);
    let unreadable = client.send(Method::GET, "/box/a", &[("x-ms-if-tags", "status")], "").await;
    assert_eq!((unreadable.status.as_u16(), unreadable.code()), (400, "InvalidHeaderValue"));
    assert_eq!(client.send(Method::DELETE, "/box/a", &[met], "").await.status, 202);
}

#[tokio::test]
async fn lists_carry_tags_where_asked_and_tiers_always() {
    let (_emulator, mut client) = memory().await;
    put_tagged(&mut client, "a", "k=v%2Bw").await;
    client.put("b", "x").await;
    set_tier(&mut client, "b", "Cool").await;
    let list = client.get("/box?restype=container&comp=list&include=metadata,tags").await;
    let (first, second) = list.text().split_once("</Blob>").unwrap();
    assert!(
        first.contains("<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>")
            && first.contains("<TagCount>1</TagCount></Properties>")
            && first.contains("<Tags><TagSet><Tag><Key>k</Key><Value>v+w</Value></Tag></TagSet></Tags>"),
        "{first}"
    );
    assert!(second.contains("<AccessTier>Cool</AccessTier><LeaseStatus>"), "{second}");
    assert!(!second.contains("Tag"), "{second}");
    let plain = client.get("/box?restype=container&comp=list").await;
    assert!(!plain.text().contains("<Tags>"), "{}", plain.text());
}

#[tokio::test]
async fn a_signature_without_the_letter_for_tags_carries_none() {
    let (emulator, mut owner) = memory().await;
    put_tagged(&mut owner, "a", "k=v").await;
    let sas = emulator.sas("rwdlac", SystemTime::now() + Duration::from_secs(600));
    let mut client = Client::connect_with(emulator.address(), sas).await;
    let refused = "AuthorizationPermissionMismatch";
    assert_eq!(client.get("/box/a?comp=tags").await.code(), refused);
    assert_eq!(set_tags(&mut client, "a", TWO_TAGS).await.code(), refused);
    assert_eq!(put_tagged(&mut client, "b", "k=v").await.code(), refused);
    assert_eq!(put(&mut client, "b", &[]).await.status, 201);
    assert_eq!(client.get("/box?restype=container&comp=list&include=tags").await.code(), refused);
}

#[tokio::test]
async fn tiers_are_chosen_kept_and_changed() {
    let (_emulator, mut client) = memory().await;
    client.put("a", "x").await;
    assert_eq!(tier(&mut client, "a").await, ("Hot".to_owned(), true));
    let etag = client.send(Method::HEAD, "/box/a", &[], "").await.header("etag").to_owned();
    assert_eq!(set_tier(&mut client, "a", "hot").await.status, 200);
    assert_eq!(tier(&mut client, "a").await, named("Hot"));
    assert_eq!(set_tier(&mut client, "a", "Cold").await.status, 200);
    assert_eq!(client.send(Method::HEAD, "/box/a", &[], "").await.header("etag"), etag);
    client.put("a", "again").await;
    assert_eq!(tier(&mut client, "a").await, named("Cold"), "a new version stays where the old one was");
    put(&mut client, "a", &[("x-ms-access-tier", "Cool")]).await;
    assert_eq!(tier(&mut client, "a").await, named("Cool"));
    copy(&mut client, "a", "b", &[]).await;
    assert_eq!(tier(&mut client, "b").await, ("Hot".to_owned(), true));
    copy(&mut client, "a", "b", &[("x-ms-access-tier", "Cold")]).await;
    assert_eq!(tier(&mut client, "b").await, named("Cold"));
    for refused in [
        set_tier(&mut client, "a", "P10").await,
        put(&mut client, "a", &[("x-ms-access-tier", "warm")]).await,
        client
            .send(
                Method::PUT,
                "/box/a?comp=tier",
                &[("x-ms-access-tier", "Hot"), ("x-ms-rehydrate-priority", "soon")],
                "",
            )
            .await,
    ] {
        assert_eq!((refused.status.as_u16(), refused.code()), (400, "InvalidHeaderValue"));
    }
    assert_eq!(client.send(Method::PUT, "/box/a?comp=tier", &[], "").await.code(), "MissingRequiredHeader");
    assert_eq!(set_tier(&mut client, "none", "Hot").await.code(), "BlobNotFound");
}

#[tokio::test]
async fn what_is_in_the_archive_is_listed_but_neither_read_nor_changed() {
    let (emulator, mut client) = memory().await;
    put(&mut client, "a", &[("x-ms-access-tier", "Archive"), ("x-ms-meta-k", "v")]).await;
    client.put_block("a", "QUFB", "x").await;
    let head = client.send(Method::HEAD, "/box/a", &[], "").await;
    assert_eq!((head.header("x-ms-access-tier"), head.header("x-ms-meta-k")), ("Archive", "v"));
    let sas = emulator.sas("r", SystemTime::now() + Duration::from_secs(600));
    let url = format!("http://localhost/devstoreaccount1/box/a?{sas}");
    let source = ("x-ms-copy-source", &*url);
    for refused in [
        client.get("/box/a").await,
        put(&mut client, "a", &[]).await,
        client.commit("a", &[("Latest", "QUFB")]).await,
        client.send(Method::PUT, "/box/a?comp=metadata", &[("x-ms-meta-k", "w")], "").await,
        copy(&mut client, "a", "b", &[]).await,
        copy(&mut client, "a", "b", &[("x-ms-access-tier", "Archive")]).await,
        copy(&mut client, "a", "a", &[("x-ms-access-tier", "Hot")]).await,
        client.send(Method::PUT, "/box/b?comp=block&blockid=QUFB", &[source], "").await,
    ] {
        assert_eq!((refused.status.as_u16(), refused.code()), (409, "BlobArchived"));
    }
    assert_eq!(set_tags(&mut client, "a", TWO_TAGS).await.status, 204);
    let back = [("x-ms-access-tier", "Hot"), ("x-ms-rehydrate-priority", "High")];
    assert_eq!(copy(&mut client, "a", "b", &back).await.status, 202);
    assert_eq!(client.get("/box/b").await.text(), "hello");
    assert_eq!(set_tier(&mut client, "a", "Hot").await.status, 202);
    assert_eq!(client.get("/box/a").await.text(), "hello");
}

async fn open(directory: &Path) -> (Emulator, Client) {
    let store = StoreKind::Directory(directory.to_owned());
    let emulator = serve(|config| config.store = store).await;
    let client = Client::connect(&emulator).await;
    (emulator, client)
}

#[tokio::test]
async fn tags_and_tiers_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (emulator, mut client) = open(directory.path()).await;
    client.make_container().await;
    client.put("a", "x").await;
    set_tags(&mut client, "a", TWO_TAGS).await;
    set_tier(&mut client, "a", "Cool").await;
    put_tagged(&mut client, "b", "k=v").await;
    emulator.shutdown().await;

    let (_emulator, mut client) = open(directory.path()).await;
    assert_eq!(tags(&mut client, "a").await, ["status=done", "a b="]);
    assert_eq!(tier(&mut client, "a").await, named("Cool"));
    assert_eq!(tags(&mut client, "b").await, ["k=v"]);
}
