//! Whole answers, as they come over the wire, to every operation of S3. Input: a byte that chooses the operation, then the
//! answer, after which the server closes; asked again, it answers the same. Whatever it is, it ends, nothing outside of what was
//! asked for is believed, and nobody tells a secret.

#![no_main]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use haulage::error::{ErrorKind, Result};
use haulage::store::s3::AccessKeys;
use haulage::store::{
    BlockRange, GetOptions, ListRequest, Payload, PutOptions, Store, StoreOpener, StoreOptions, Trace,
};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

const SECRET: &str = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A server that gives the answer to whoever asks.
static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number");
    std::thread::spawn(move || {
        loop {
            let Ok((mut stream, _)) = listener.accept() else { continue };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut heard = Vec::new();
            let mut piece = [0; 4096];
            while !heard.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(len @ 1..) => heard.extend_from_slice(&piece[..len]),
                    _ => break,
                }
            }
            let _ = stream.write_all(&ANSWER.lock().expect("an answer"));
        }
    });
    address
});

fuzz_target!(|data: &[u8]| {
    let Some((choice, answer)) = data.split_first() else { return };
    let address = *SERVER;
    answer.clone_into(&mut ANSWER.lock().expect("an answer"));
    RUNTIME.block_on(async {
        let keys = AccessKeys { id: "id".into(), secret: SECRET.into(), token: Some(SECRET.into()) };
        let options = StoreOptions {
            endpoint: Some(format!("http://{address}")),
            region: Some("us-east-1".into()),
            keys: Some(keys),
            stall_timeout: Duration::from_secs(2),
            ..StoreOptions::default()
        };
        let place = StoreOpener::new(options).expect("an opener").open("s3://box/in/a").expect("an address");
        let asked = ask(*choice, &place.store);
        let ended = tokio::time::timeout(Duration::from_secs(20), asked).await.expect("no end");
        if let Err(error) = ended {
            let said = format!("{error} {error:?}");
            assert!(!said.contains(SECRET) && !said.contains(&SECRET[..43]), "{said}");
            assert!(error.cause().len() < 4000);
        }
    });
});

fn body() -> Payload {
    bytes::Bytes::from_static(b"12345").into()
}

/// Sends one operation, and judges what is made of the answer.
async fn ask(choice: u8, store: &Arc<dyn Store>) -> Result<()> {
    let trace = Trace::detached();
    let below = ListRequest { prefix: "in/".into(), ..ListRequest::default() };
    match choice % 12 {
        0 => {
            let page = store.list(below).next_page(&trace).await?.unwrap_or_default();
            assert!(page.prefixes.is_empty());
            assert!(
                page.objects.iter().all(|object| object.key.starts_with("in/") && !object.etag.is_empty())
            );
        }
        1 => {
            let request = ListRequest { hierarchical: true, ..below };
            let page = store.list(request).next_page(&trace).await?.unwrap_or_default();
            assert!(page.prefixes.iter().all(|folder| folder.starts_with("in/") && folder.ends_with('/')));
        }
        2 => assert!(!store.head("in/a", &trace).await?.etag.is_empty()),
        3 => {
            let got = store.get("in/a", &GetOptions::default(), &trace).await?;
            let announced = got.payload.len();
            if announced <= 1 << 20 {
                assert_eq!(got.payload.collect().await?.len() as u64, announced);
            }
        }
        4 => {
            let range = Some(BlockRange { offset: 10, len: 5 });
            let options = GetOptions { range, if_match: Some("0x1".into()), range_checksum: true };
            let got = store.get("in/a", &options, &trace).await?;
            assert_eq!((got.meta.etag.as_str(), got.payload.len()), ("0x1", 5));
            assert_eq!(got.payload.collect().await?.len(), 5);
        }
        5 => {
            let put = store.put("in/a", body(), &PutOptions::default(), &trace).await?;
            assert!(!put.etag.is_empty());
        }
        // A new upload; of what is left of others, where a size is named.
        6 => _ = store.begin("in/a", None, &PutOptions::default(), &trace).await?,
        7 => _ = store.begin("in/a", Some(20 << 20), &PutOptions::default(), &trace).await?,
        8 => store.delete("in/a", &trace).await?,
        9 => {
            let keys = ["in/a".to_owned(), "in/b".to_owned()];
            let outcomes = store.delete_many(&keys, &trace).await?;
            assert_eq!(outcomes.len(), 2);
        }
        10 => {
            let page = store
                .list(ListRequest { leftovers: true, ..below })
                .next_page(&trace)
                .await?
                .unwrap_or_default();
            assert!(page.objects.iter().all(|left| store.leftover_of(&left.key).starts_with("in/")));
        }
        _ => match store.create_container(&trace).await {
            Err(error) if error.kind() == ErrorKind::Exists => {}
            other => other?,
        },
    }
    Ok(())
}
