// A round trip with the Java client: RoundTrip NAMESERVERS TOPIC COUNT [ordered]. With `ordered`, all messages of a key go
// to one queue and must arrive in the order of sending. The last line: "sent 20 received 20" (and "in order").

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

public class RoundTrip {
    private static final int KEYS = 4;

    public static void main(String[] args) throws Exception {
        String nameservers = args[0];
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        boolean ordered = args.length > 3 && args[3].equals("ordered");

        DefaultMQProducer producer = new DefaultMQProducer(topic + "-producers");
        producer.setNamesrvAddr(nameservers);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        int sent = 0;
        for (int i = 0; i < count; i++) {
            Message message = new Message(topic, "tag", Integer.toString(i).getBytes());
            if (ordered) {
                producer.send(message, (queues, m, key) -> queues.get((Integer) key % queues.size()), i % KEYS);
            } else {
                producer.send(message);
            }
            sent++;
        }

        List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(topic + "-consumers");
        consumer.setNamesrvAddr(nameservers);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        if (ordered) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                take(messages, seen);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                take(messages, seen);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        long deadline = System.currentTimeMillis() + 60_000;
        while (new TreeSet<>(List.copyOf(seen)).size() < count && System.currentTimeMillis() < deadline) {
            Thread.sleep(20);
        }
        List<Integer> received = List.copyOf(seen);
        String order = ordered ? (inOrder(received) ? " in order" : " out of order: " + received) : "";
        System.out.println("sent " + sent + " received " + new TreeSet<>(received).size() + order);
        System.out.flush();
        Runtime.getRuntime().halt(0); // skips the shutdown, which takes seconds
    }

    private static void take(List<MessageExt> messages, List<Integer> seen) {
        for (MessageExt message : messages) {
            seen.add(Integer.parseInt(new String(message.getBody())));
        }
    }

    private static boolean inOrder(List<Integer> received) {
        Map<Integer, Integer> last = new HashMap<>();
        for (int number : received) {
            Integer before = last.put(number % KEYS, number);
            if (before != null && before > number) {
                return false;
            }
        }
        return true;
    }
}
