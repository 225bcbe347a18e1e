//! Whole answers, as they come over the wire, to every operation. Input: a byte that chooses the operation, then the answer,
//! after which the server closes. Whatever it is, it ends, nothing outside of what was asked for is believed, and nobody
//! tells a secret.

#![no_main]

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use haulage::error::{ErrorKind, Result};
use haulage::store::{
    Attributes, BlockId, BlockRange, GetOptions, ListRequest, Payload, PutOptions, Store, StoreOpener, StoreOptions,
    Trace,
};
use libfuzzer_sys::fuzz_target;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

const SIGNATURE: &str = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// A server that gives the next answer to whoever asks.
static SERVER: LazyLock<(SocketAddr, Sender<Vec<u8>>)> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number");
    let (answers, queue) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for answer in queue {
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
            let _ = stream.write_all(&answer);
        }
    });
    (address, answers)
});

fuzz_target!(|data: &[u8]| {
    let Some((choice, answer)) = data.split_first() else { return };
    let (address, answers) = &*SERVER;
    answers.send(answer.to_vec()).expect("the server");
    RUNTIME.block_on(async {
        let url = format!("http://{address}/account/box/in/a?se=2099-01-01&sp=rwdl&sig={SIGNATURE}");
        let options = StoreOptions { stall_timeout: Duration::from_secs(2), ..StoreOptions::default() };
        let place = StoreOpener::new(options).expect("an opener").open(&url).expect("an address");
        let asked = ask(*choice, &place.store);
        let ended = tokio::time::timeout(Duration::from_secs(8), asked).await.expect("no end");
        if let Err(error) = ended {
            let said = format!("{error} {error:?}");
            assert!(!said.contains(SIGNATURE) && !said.contains(&SIGNATURE[..43]), "{said}");
            assert!(error.cause().len() < 4000);
        }
    });
});

/// Sends one operation, and judges what is made of the answer.
async fn ask(choice: u8, store: &Arc<dyn Store>) -> Result<()> {
    let trace = Trace::detached();
    let range = BlockRange { offset: 10, len: 5 };
    let id = BlockId { range: BlockRange { offset: 0, len: 5 }, crc64: haulage::checksum::Crc64::of(b"12345") };
    let body = || Payload::Bytes(bytes::Bytes::from_static(b"12345"));
    match choice % 11 {
        0 => {
            let request = ListRequest { prefix: "in/".into(), ..ListRequest::default() };
            let page = store.list(request).next_page(&trace).await?.unwrap_or_default();
            assert!(page.prefixes.is_empty());
            assert!(page.objects.iter().all(|object| object.key.starts_with("in/") && !object.etag.is_empty()));
        }
        1 => {
            let request = ListRequest { prefix: "in/".into(), hierarchical: true, ..ListRequest::default() };
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
            let options =
                GetOptions { range: Some(range), if_match: Some("0x1".into()), range_checksum: true };
            let got = store.get("in/a", &options, &trace).await?;
            assert_eq!((got.meta.etag.as_str(), got.payload.len()), ("0x1", 5));
            assert_eq!(got.payload.collect().await?.len(), 5);
        }
        5 => {
            let put = store.put("in/a", body(), &PutOptions::default(), &trace).await?;
            assert!(!put.etag.is_empty());
        }
        6 => {
            let writer = store.begin("in/a", Some(5), &PutOptions::default(), &trace).await?;
            assert_eq!(writer.put_block(id.range, body(), &trace).await?.part.id, id);
        }
        7 => {
            let writer = store.begin("in/a", Some(5), &PutOptions::default(), &trace).await?;
            writer.staged(&trace).await?;
        }
        8 => {
            let writer = store.begin("in/a", Some(5), &PutOptions::default(), &trace).await?;
            assert!(!writer.commit(&[id.into()], &Attributes::default(), &trace).await?.etag.is_empty());
        }
        9 => store.delete("in/a", &trace).await?,
        _ => match store.create_container(&trace).await {
            Err(error) if error.kind() == ErrorKind::Exists => {}
            other => other?,
        },
    }
    Ok(())
}
