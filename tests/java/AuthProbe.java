// A producer and mqadmin, with or without credentials. Arguments: NameServer, topic, access key and secret key (or
// neither). Prints one line {"what", "said"} for the sent message and one for each mqadmin command, which reads its
// credentials from conf/tools.yml in ROCKETMQ_HOME.

import com.alibaba.fastjson2.JSONObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.tools.command.MQAdminStartup;

public class AuthProbe {
    private static final PrintStream OUT = System.out;

    public static void main(String[] args) throws Exception {
        String nameServer = args[0];
        RPCHook hook = args.length < 4 ? null : new AclClientRPCHook(new SessionCredentials(args[2], args[3]));
        say("send", send(nameServer, args[1], hook));
        String[] commands = {
            "clusterList -n " + nameServer,
            "topicList -n " + nameServer,
            "updateKvConfig -s probe -k key -v value -n " + nameServer,
            "getNamesrvConfig -n " + nameServer,
            "wipeWritePerm -b b-a -n " + nameServer,
        };
        for (String command : commands) {
            say(command.split(" ")[0], admin(command.split(" ")));
        }
        System.exit(0);
    }

    private static String send(String nameServer, String topic, RPCHook hook) {
        DefaultMQProducer producer = new DefaultMQProducer("auth-probe", hook);
        producer.setNamesrvAddr(nameServer);
        producer.setVipChannelEnabled(false);
        producer.setSendMsgTimeout(60_000);  // the machine may be busy
        producer.setMqClientApiTimeout(30_000);
        try {
            producer.start();
            return producer.send(new Message(topic, "hello".getBytes(StandardCharsets.UTF_8))).getSendStatus().name();
        } catch (Exception e) {
            return e.toString();
        } finally {
            producer.shutdown();
        }
    }

    private static String admin(String[] command) {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true);
        PrintStream err = System.err;
        System.setOut(stream);
        System.setErr(stream);
        try {
            MQAdminStartup.main0(command, null);
        } finally {
            System.setOut(OUT);
            System.setErr(err);
        }
        return said.toString();
    }

    private static void say(String what, String said) {
        OUT.println(JSONObject.of("what", what, "said", said));
    }
}
