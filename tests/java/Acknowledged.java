// A producer that remembers what the broker acknowledged: Acknowledged NAMESERVERS TOPIC. Sends a numbered message every
// 20 ms and prints "ack N" for each that is stored. After a line of input it stops, reads the whole topic, and prints
// "acknowledged N failed M lost L; longest S" with the longest time, in seconds, without an acknowledgement.

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

public class Acknowledged {
    private static volatile boolean stopped;

    public static void main(String[] args) {
        try {
            run(args);
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void run(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("acknowledged");
        producer.setNamesrvAddr(args[0]);
        producer.setPollNameServerInterval(500);
        producer.setSendMsgTimeout(1000);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();

        Thread input = new Thread(() -> {
            try {
                System.in.read();
            } catch (java.io.IOException e) {
                // the test has ended
            }
            stopped = true;
        });
        input.setDaemon(true);
        input.start();

        Set<Integer> acknowledged = new HashSet<>();
        int failed = 0;
        long last = System.currentTimeMillis();
        long longest = 0;
        for (int i = 0; !stopped; i++) {
            try {
                SendStatus status = producer.send(new Message(args[1], Integer.toString(i).getBytes())).getSendStatus();
                if (status == SendStatus.SEND_OK) {
                    acknowledged.add(i);
                    long now = System.currentTimeMillis();
                    longest = acknowledged.size() == 1 ? 0 : Math.max(longest, now - last);
                    last = now;
                    System.out.println("ack " + i);
                } else {
                    failed++;
                }
            } catch (Exception e) {
                failed++;
            }
            Thread.sleep(20);
        }
        Set<Integer> lost = new HashSet<>(acknowledged);
        lost.removeAll(stored(args[0], args[1]));
        System.out.println("acknowledged " + acknowledged.size() + " failed " + failed + " lost " + lost.size()
                + "; longest " + longest / 1000.0);
    }

    private static Set<Integer> stored(String nameservers, String topic) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("acknowledged-reader");
        consumer.setNamesrvAddr(nameservers);
        consumer.start();
        Set<Integer> found = ConcurrentHashMap.newKeySet();
        for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(topic)) {
            long offset = consumer.minOffset(queue);
            while (true) {
                PullResult result = consumer.pull(queue, "*", offset, 32);
                offset = result.getNextBeginOffset();
                if (result.getPullStatus() != PullStatus.FOUND) {
                    break;
                }
                for (MessageExt message : result.getMsgFoundList()) {
                    String body = new String(message.getBody());
                    if (!body.equals("probe")) {
                        found.add(Integer.parseInt(body));
                    }
                }
            }
        }
        return found;
    }
}
