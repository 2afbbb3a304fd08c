//! HTTP as far as it is needed: what a request asks for, and a response in bytes.

/// No client of metrics sends more.
pub(super) const MOST_HEAD: usize = 8 * 1024;

const TEXT: &str = "text/plain; charset=utf-8";
/// The version of the text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

const HOME: &str = "Locks of tenure. Their metrics are at /metrics\n";

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Metrics,
    Home,
    NotFound,
    NotAllowed,
    Malformed,
    TooLong,
}

impl Reply {
    /// The answer to the head of a request, as soon as its first line is there and it has ended.
    pub(super) fn to(head: &[u8]) -> Option<Self> {
        if !has_ended(head) {
            return (head.len() >= MOST_HEAD).then_some(Self::TooLong);
        }
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Some(std::str::from_utf8(line).map_or(Self::Malformed, Self::to_line))
    }

    fn to_line(line: &str) -> Self {
        let words: Vec<_> = line.trim_end_matches('\r').split(' ').collect();
        let [method, target, version] = words[..] else { return Self::Malformed };
        let is_method = !method.is_empty() && method.bytes().all(|it| it.is_ascii_alphabetic());
        if !is_method || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Self::Malformed;
        }
        let path = target.split('?').next().unwrap_or_default();
        match path {
            "/" | "/metrics" if method != "GET" => Self::NotAllowed,
            "/" => Self::Home,
            "/metrics" => Self::Metrics,
            _ => Self::NotFound,
        }
    }

    /// The response; `metrics` is the text of them.
    pub(super) fn response(self, metrics: &str) -> Vec<u8> {
        let (status, kind, body) = match self {
            Self::Metrics => ("200 OK", METRICS, metrics),
            Self::Home => ("200 OK", TEXT, HOME),
            Self::NotFound => ("404 Not Found", TEXT, "Not found: metrics are at /metrics\n"),
            Self::NotAllowed => ("405 Method Not Allowed\r\nAllow: GET", TEXT, "Use GET\n"),
            Self::Malformed => ("400 Bad Request", TEXT, "This is not a request of HTTP/1.1\n"),
            Self::TooLong => {
                ("431 Request Header Fields Too Large", TEXT, "The head has more than 8 KiB\n")
            }
        };
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// Whether there is an empty line. Some clients end lines without a carriage return.
fn has_ended(head: &[u8]) -> bool {
    head.windows(2).any(|it| it == b"\n\n") || head.windows(4).any(|it| it == b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(head: &str) -> Option<Reply> {
        Reply::to(head.as_bytes())
    }

    #[test]
    fn a_request_is_answered_by_its_first_line_when_its_head_is_there() {
        for (line, expected) in [
            ("GET /metrics HTTP/1.1", Reply::Metrics),
            ("GET /metrics?x=/ HTTP/1.0", Reply::Metrics),
            ("GET / HTTP/1.1", Reply::Home),
            ("GET /metrics/ HTTP/1.1", Reply::NotFound),
            ("POST /other HTTP/1.1", Reply::NotFound),
            ("POST /metrics HTTP/1.1", Reply::NotAllowed),
            ("get / HTTP/1.1", Reply::NotAllowed),
            ("GET /metrics", Reply::Malformed),
            ("GET /metrics HTTP/2.0", Reply::Malformed),
            ("GET  /metrics HTTP/1.1", Reply::Malformed),
            ("\u{16}\u{3} x HTTP/1.1", Reply::Malformed),
            ("", Reply::Malformed),
        ] {
            assert_eq!(reply(&format!("{line}\r\nHost: a\r\n\r\n")), Some(expected), "{line:?}");
            assert_eq!(reply(&format!("{line}\nHost: a\n\n")), Some(expected), "{line:?}");
            assert_eq!(reply(&format!("{line}\r\nHost: a\r\n")), None, "{line:?}");
        }
        assert_eq!(Reply::to(b"GET /\xff HTTP/1.1\r\n\r\n"), Some(Reply::Malformed));
    }

    #[test]
    fn a_head_that_does_not_end_is_refused() {
        let head = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MOST_HEAD));
        assert_eq!(reply(&head), Some(Reply::TooLong));
        assert_eq!(reply(""), None);
    }

    #[test]
    fn any_request_is_answered_or_refused() {
        let examples: &[&[u8]] = &[
            b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
            b"POST /?x=1 HTTP/1.0\n\n",
            b"GET /other HTTP/1.1\r\n",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            Reply::to(bytes).is_some_and(|reply| !reply.response("").is_empty())
        });
    }

    #[test]
    fn a_response_has_the_length_of_its_body_in_bytes() {
        let response = String::from_utf8(Reply::Metrics.response("ü 1\n")).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4;"));
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("Connection: close"));
        assert_eq!(body, "ü 1\n");
        let refused = String::from_utf8(Reply::NotAllowed.response("")).unwrap();
        assert!(refused.starts_with("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\n"));
    }
}
