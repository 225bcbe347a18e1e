//! S3's documents, out and in.

use std::fmt::{Display, Write as _};

use http::Response;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::wire::body::ResponseBody;
use crate::wire::reply;
use crate::wire::xml::Escaped;

pub(super) use crate::wire::node::Node;

/// What `encoding-type=url` leaves as it is.
const URL: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*').remove(b'/');

/// A document on its way out.
pub(super) struct Document {
    text: String,
    root: &'static str,
}

impl Document {
    pub(super) fn new(root: &'static str) -> Self {
        let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        let text = format!("{declaration}<{root} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
        Self { text, root }
    }

    /// An element with text.
    pub(super) fn element(&mut self, name: &str, value: impl Display) -> &mut Self {
        // Writing to a String cannot fail, here and below.
        let _ = write!(self.text, "<{name}>{}</{name}>", Escaped(&value.to_string()));
        self
    }

    /// An element with text, where there is some.
    pub(super) fn optional(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.element(name, value),
            None => self,
        }
    }

    /// An element with others in it.
    pub(super) fn nested(&mut self, name: &str, write: impl FnOnce(&mut Self)) -> &mut Self {
        let _ = write!(self.text, "<{name}>");
        write(self);
        let _ = write!(self.text, "</{name}>");
        self
    }

    /// Text that is XML already.
    pub(super) fn raw(&mut self, xml: &str) -> &mut Self {
        self.text.push_str(xml);
        self
    }

    pub(super) fn finish(mut self) -> String {
        let _ = write!(self.text, "</{}>", self.root);
        self.text
    }

    /// The whole as an answer.
    pub(super) fn reply(self) -> Response<ResponseBody> {
        reply::xml(self.finish())
    }
}

/// Names as the client wants them: escaped as in URLs, or as they are.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) escaped: bool,
}

impl Names {
    pub(super) fn write(self, name: &str) -> String {
        if !self.escaped {
            return name.to_owned();
        }
        utf8_percent_encode(name, &URL).to_string().replace("%20", "+")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn parse(text: &str, root: &str) -> Option<Node> {
        Node::parse(&Bytes::copy_from_slice(text.as_bytes()), root)
    }

    #[test]
    fn documents_are_read_as_clients_write_them() {
        let text = "<?xml version='1.0'?>\n<Delete xmlns=\"x\">\n <Object><Key> a&amp;b&#13;é </Key></Object>\
                    <Object><Key><![CDATA[<c>]]></Key></Object><Quiet/></Delete>";
        let delete = parse(text, "Delete").unwrap();
        let keys: Vec<_> = delete.all("Object").map(|object| object.text_of("Key").unwrap()).collect();
        assert_eq!(keys, [" a&b\ré ", "<c>"]);
        assert_eq!(delete.text_of("Quiet"), Some(""));
        let deep = format!("{}{}", "<a>".repeat(20), "</a>".repeat(20));
        for bad in [
            "",
            "x",
            "<Delete>",
            "<Other/>",
            "<Delete/><Delete/>",
            "<Delete/>x",
            "<Delete>&odd;</Delete>",
            &deep,
        ] {
            assert_eq!(parse(bad, "Delete"), None, "{bad}");
        }
    }

    #[test]
    fn documents_are_written_with_escapes() {
        let mut document = Document::new("A");
        document.element("B", "<&>\r").nested("C", |inner| {
            inner.optional("D", Some(1)).optional("E", None::<u8>);
        });
        let text = document.finish();
        assert!(text.ends_with("<B>&lt;&amp;&gt;&#xD;</B><C><D>1</D></C></A>"), "{text}");
    }

    #[test]
    fn names_are_escaped_where_asked() {
        assert_eq!(Names { escaped: true }.write("a b/+%é*~"), "a+b/%2B%25%C3%A9*%7E");
        assert_eq!(Names { escaped: false }.write("a b"), "a b");
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused_but_never_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Node::parse(&body.into(), "Delete");
        }

        #[test]
        fn what_is_written_reads_back(value in "[ -~é☃\t\n\r]{0,40}") {
            let mut document = Document::new("A");
            document.element("B", &value);
            let read = parse(&document.finish(), "A").unwrap();
            prop_assert_eq!(read.text_of("B"), Some(&*value));
        }
    }
}
