//! A collector as far as the program sees one: it takes what arrives by OTLP, and keeps it decoded.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{Metric, ResourceMetrics},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, Span},
};
use prost::Message;

/// What arrived, in the order in which it came.
#[derive(Default)]
struct Arrived {
    spans: Vec<ResourceSpans>,
    metrics: Vec<ResourceMetrics>,
}

pub(crate) struct Receiver {
    pub(crate) endpoint: String,
    arrived: Arc<Mutex<Arrived>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let arrived = Arc::<Mutex<Arrived>>::default();
        let into = arrived.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let into = into.clone();
                std::thread::spawn(move || serve(connection.unwrap(), &into));
            }
        });
        Self { endpoint, arrived }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let arrived = self.arrived.lock().unwrap();
        let scopes = arrived.spans.iter().flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    /// Each metric as often as it was sent, the latest last.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let arrived = self.arrived.lock().unwrap();
        let scopes = arrived.metrics.iter().flat_map(|resource| &resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics.clone()).collect()
    }

    /// What the program says of itself, with each message.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        let arrived = self.arrived.lock().unwrap();
        let of_spans = arrived.spans.iter().map(|spans| &spans.resource);
        let of_metrics = arrived.metrics.iter().map(|metrics| &metrics.resource);
        of_spans.chain(of_metrics).flatten().cloned().collect()
    }
}

/// The value of an attribute as text.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match &found.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some(text.clone()),
        other => panic!("{key} is {other:?}"),
    }
}

/// Answers the requests of one connection until the client closes it.
fn serve(connection: TcpStream, into: &Mutex<Arrived>) {
    let mut reader = BufReader::new(connection);
    while let Some((path, body)) = read_request(&mut reader) {
        match path.as_str() {
            "/v1/traces" => {
                let request = ExportTraceServiceRequest::decode(&*body).unwrap();
                into.lock().unwrap().spans.extend(request.resource_spans);
            }
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(&*body).unwrap();
                into.lock().unwrap().metrics.extend(request.resource_metrics);
            }
            other => panic!("a request to {other}"),
        }
        // An answer without a body is the message without fields: all was taken.
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    }
}

/// The path and the body of a request.
fn read_request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => assert_eq!(value.trim(), "application/x-protobuf"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Some((path, body))
}
