//! A round trip by the Rust SDK: send, then receive all of it by a push consumer.
//!
//!     interop NAMESERVER TOPIC COUNT
//!
//! The last line says what worked: "sent 20 received 20".

#![recursion_limit = "512"] // the SDK's futures are deep

use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rocketmq_client_rust::{
    ClientResult, ClientRuntime, ClientRuntimeConfig, ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus,
    DefaultMQProducer, DefaultMQPushConsumer, MQPushConsumer, MessageListenerConcurrently,
};
use rocketmq_model::common::consumer::consume_from_where::ConsumeFromWhere;
use rocketmq_model::common::message::message_ext::MessageExt;
use rocketmq_model::common::message::message_single::Message;
use rocketmq_observability::TelemetryRuntimeGuard;
use rocketmq_runtime::RuntimeOwner;

const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<HashSet<Vec<u8>>>>);

impl Seen {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl MessageListenerConcurrently for Seen {
    fn consume_message(
        &self,
        messages: &[&MessageExt],
        _context: &ConsumeConcurrentlyContext,
    ) -> ClientResult<ConsumeConcurrentlyStatus> {
        let mut bodies = self.0.lock().unwrap();
        bodies.extend(
            messages
                .iter()
                .filter_map(|message| message.body())
                .map(|body| body.to_vec()),
        );
        Ok(ConsumeConcurrentlyStatus::ConsumeSuccess)
    }
}

async fn round_trip(
    runtime: Arc<ClientRuntime>,
    nameserver: &str,
    topic: &str,
    count: usize,
) -> Result<(), Box<dyn Error>> {
    let mut producer = DefaultMQProducer::builder(runtime.clone())
        .producer_group(format!("{topic}-producers"))
        .name_server_addr(nameserver)
        .build();
    producer.start().await?;
    let mut sent = 0;
    for number in 0..count {
        let body = format!("message-{number}").into_bytes();
        let message = Message::builder().topic(topic).body(body).build()?;
        producer.send_with_timeout(message, 5000).await?;
        sent += 1;
    }

    let seen = Seen::default();
    let mut consumer = DefaultMQPushConsumer::builder(runtime)
        .consumer_group(format!("{topic}-consumers"))
        .name_server_addr(nameserver)
        .consume_from_where(ConsumeFromWhere::ConsumeFromFirstOffset)
        .build();
    consumer.subscribe(topic, "*").await?;
    consumer.register_message_listener_concurrently(seen.clone());
    consumer.start().await?;
    let start = Instant::now();
    while seen.count() < count && start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("sent {sent} received {}", seen.count());
    consumer.shutdown().await;
    producer.shutdown().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, nameserver, topic, count] = &arguments[..] else {
        return Err("usage: interop NAMESERVER TOPIC COUNT".into());
    };
    let owner = RuntimeOwner::new()?;
    let telemetry = TelemetryRuntimeGuard::noop();
    let runtime = ClientRuntime::try_new(
        owner.root_context().component("interop"),
        ClientRuntimeConfig::default(),
        telemetry.handle(),
    )?;
    let outcome = owner.block_on(async {
        let outcome = round_trip(runtime.clone(), nameserver, topic, count.parse()?).await;
        runtime.shutdown().await;
        outcome
    });
    owner.shutdown_background();
    outcome
}
