//! What questions and jobs share in a session, against the local endpoint.

use haulage::access::{self, Cleaning, Removal, RemoveOptions};
use haulage::event::Summary;
use haulage::job::{Overwrite, Work};
use haulage::store::azure::{AzureCredentials, AzureSecret};
use haulage::store::{Credentials, StoreOptions};
use haulage::units::ByteRate;
use haulage::{CopyOptions, ErrorKind, Job, Session};
use haulage_emulator::{Emulator, EmulatorConfig};

/// A key that the endpoint does not know.
const WRONG: &str = "d3Jvbmctd3Jvbmctd3Jvbmc=";

async fn endpoint() -> Emulator {
    haulage_emulator::start(EmulatorConfig::default()).await.unwrap()
}

fn given(secret: AzureSecret, endpoint: Option<&str>) -> Session {
    Session::new([Credentials::Azure(AzureCredentials::new(secret, None, endpoint).unwrap())])
}

fn on(session: &Session) -> StoreOptions {
    StoreOptions { session: Some(session.clone()), ..StoreOptions::default() }
}

async fn copy(source: &str, destination: &str, store: StoreOptions) -> Summary {
    let work = Work::Copy { sources: vec![source.to_owned()], destination: destination.to_owned() };
    let options = CopyOptions { store, overwrite: Overwrite::Always, ..CopyOptions::default() };
    Job::new(work, options).start().unwrap().wait().await.unwrap()
}

/// All there is to ask, one after the other.
async fn ask_everything(options: &StoreOptions, file: &str) {
    let url = "az://shared/a".to_owned();
    let mut read = Vec::new();
    copy(file, &url, options.clone()).await;
    access::stat(&url, options).await.unwrap();
    assert!(access::list(&url, false, options).await.unwrap().next_page().await.unwrap().is_some());
    assert_eq!(access::disk_usage("az://shared", &[], &[], options).await.unwrap().objects, 1);
    assert_eq!(access::cat(&url, options, &mut read).await.unwrap(), 5);
    let what = RemoveOptions::default();
    let mut cleaning = Cleaning::find(&["az://shared".to_owned()], &what, options).await.unwrap();
    assert!(cleaning.remove_next().await.unwrap().is_some());
    let mut removal = Removal::find(&[url], &what, options).await.unwrap();
    assert_eq!(removal.remove_next(&mut |_| ()).await.unwrap().unwrap().1.objects, 1);
    access::make_container("az://second", options).await.unwrap();
    access::remove_container("az://second", false, &what, options).await.unwrap();
}

#[tokio::test]
async fn questions_and_jobs_of_a_session_use_the_connections_that_are_there() {
    let endpoint = endpoint().await;
    let session = given(AzureSecret::ConnectionString(endpoint.connection_string()), None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a").display().to_string();
    std::fs::write(&file, "hello").unwrap();
    access::make_container("az://shared", &on(&session)).await.unwrap();
    ask_everything(&on(&session), &file).await;
    let before = endpoint.stats().connections;
    ask_everything(&on(&session), &file).await;
    assert_eq!(endpoint.stats().connections, before);
    session.close();
    let error = access::stat("az://shared/a", &on(&session)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[tokio::test]
async fn each_job_counts_its_own_bytes_and_keeps_its_own_cap() {
    let endpoint = endpoint().await;
    let session = given(AzureSecret::ConnectionString(endpoint.connection_string()), None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a").display().to_string();
    let size = 200_000;
    std::fs::write(&file, vec![7; size as usize]).unwrap();
    access::make_container("az://shared", &on(&session)).await.unwrap();
    let capped = StoreOptions { cap: Some(ByteRate::bits_per_second(4_000_000)), ..on(&session) };
    for (options, least_ns) in [(on(&session), 0), (capped, 300_000_000), (on(&session), 0)] {
        let summary = copy(&file, "az://shared/a", options).await;
        assert!((size..size * 3 / 2).contains(&summary.bytes_wire), "{}", summary.bytes_wire);
        assert!(summary.elapsed_ns > least_ns, "{}", summary.elapsed_ns);
        assert!(least_ns > 0 || summary.elapsed_ns < 2_000_000_000, "{}", summary.elapsed_ns);
    }
}

#[tokio::test]
async fn what_was_given_is_used_and_its_failure_says_so() {
    let endpoint = endpoint().await;
    let at = endpoint.endpoint();
    let wrong = given(AzureSecret::Key(WRONG.to_owned()), Some(&at));
    let error = access::make_container("az://shared", &on(&wrong)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert_eq!(error.hint_text(), Some("check the key you passed, and this machine's clock"));
    assert!(!format!("{error:?} {wrong:?}").contains(WRONG));
    // Nothing but the account's own emulator key is left to whoever gives none.
    access::make_container(&format!("{at}/shared"), &StoreOptions::default()).await.unwrap();
}
