// Producers during a disturbance: Senders NAMESERVERS TOPIC SECONDS [NAMESERVERS-OF-NEW-PRODUCERS]. One producer sends every
// 50 ms from the start; every half second a new producer starts without a route, sends once and stops. Prints "ready" after
// the first send. The last line is "old sent N failed M; new sent N failed M; longest S" with the longest time, in seconds,
// in which new producers failed.

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

public class Senders {
    public static void main(String[] args) throws Exception {
        String nameservers = args[0];
        String topic = args[1];
        String forNewcomers = args.length > 3 ? args[3] : nameservers;
        DefaultMQProducer old = producer(nameservers, "old");
        for (int tries = 1; ; tries++) {
            try {
                old.send(new Message(topic, "first".getBytes()));
                break;
            } catch (Exception e) {
                if (tries == 20) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
                pause(500);
            }
        }
        System.out.println("ready");
        System.out.flush();

        long end = System.currentTimeMillis() + Long.parseLong(args[2]) * 1000;
        AtomicInteger sent = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        Thread steady = new Thread(() -> {
            while (System.currentTimeMillis() < end) {
                try {
                    old.send(new Message(topic, "m".getBytes()));
                    sent.incrementAndGet();
                } catch (Exception e) {
                    failed.incrementAndGet();
                }
                pause(50);
            }
        });
        steady.start();

        int newSent = 0;
        int newFailed = 0;
        long failingSince = 0;
        long longest = 0;
        for (int i = 0; System.currentTimeMillis() < end; i++) {
            DefaultMQProducer newcomer = null;
            try {
                newcomer = producer(forNewcomers, "new-" + i);
                newcomer.send(new Message(topic, "n".getBytes()));
                newSent++;
                failingSince = 0;
            } catch (Exception e) {
                newFailed++;
                long now = System.currentTimeMillis();
                failingSince = failingSince == 0 ? now : failingSince;
                longest = Math.max(longest, now - failingSince);
            }
            DefaultMQProducer leaving = newcomer;
            if (leaving != null) {
                Thread away = new Thread(leaving::shutdown);
                away.setDaemon(true);
                away.start();
            }
            pause(500);
        }
        steady.join();
        System.out.println("old sent " + sent + " failed " + failed + "; new sent " + newSent + " failed " + newFailed
                + "; longest " + longest / 1000.0);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static DefaultMQProducer producer(String nameservers, String name) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("senders-" + name);
        producer.setInstanceName(name);
        producer.setNamesrvAddr(nameservers);
        producer.setMqClientApiTimeout(1000);
        producer.setSendMsgTimeout(2000);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        return producer;
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
