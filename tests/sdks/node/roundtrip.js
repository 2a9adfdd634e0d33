// A round trip by the Node SDK (ali-ons): node roundtrip.js NAMESERVER TOPIC COUNT; the topic must exist.
'use strict';

const httpclient = require('urllib');
const { Consumer, Producer, Message } = require('ali-ons');

const [nameSrv, topic, text] = process.argv.slice(2);
const count = Number(text);
const quiet = { info() {}, warn() {}, error: console.error, debug() {} };
const shared = { httpclient, nameSrv, accessKeyId: 'a', accessKeySecret: 's', logger: quiet };

async function main() {
  const consumer = new Consumer({ ...shared, consumerGroup: `${topic}-group`, isBroadcast: false });
  const seen = new Set();
  const all = new Promise((resolve) => {
    consumer.subscribe(topic, '*', async (message) => {
      seen.add(message.body.toString());
      if (seen.size === count) resolve();
    });
  });
  const producer = new Producer({ ...shared, producerGroup: `${topic}-producers` });
  await Promise.all([consumer.ready(), producer.ready()]);
  let sent = 0;
  for (let i = 0; i < count; i += 1) {
    await producer.send(new Message(topic, 'tag', `message-${i}`));
    sent += 1;
  }
  await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 40000))]);
  console.log(`sent ${sent} received ${seen.size}`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
