// Routes as the Java client reads them: for each line {"topic", "route", "other"} of the input, one line with the
// queues that it publishes and subscribes to, and whether it considers "other" a change.

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONArray;
import com.alibaba.fastjson2.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.impl.producer.TopicPublishInfo;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;
import org.apache.rocketmq.remoting.rpc.ClientMetadata;

public class RouteProbe {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        String line;
        while ((line = in.readLine()) != null) {
            JSONObject given = JSON.parseObject(line);
            out.println(look(given.getString("topic"), given.getString("route"), given.getString("other")));
        }
    }

    private static JSONObject look(String topic, String route, String other) {
        JSONObject seen = new JSONObject();
        try {
            TopicPublishInfo publish = MQClientInstance.topicRouteData2TopicPublishInfo(topic, decode(route));
            seen.put("publish", queues(publish.getMessageQueueList()));
            seen.put("ordered", publish.isOrderTopic());
        } catch (ArrayIndexOutOfBoundsException | NumberFormatException e) {
            seen.put("publish", null);
        }
        seen.put("subscribe", queues(MQClientInstance.topicRouteData2TopicSubscribeInfo(topic, decode(route))));
        JSONArray hosts = new JSONArray();
        ClientMetadata.topicRouteData2EndpointsForStaticTopic(topic, decode(route)).forEach((queue, host) ->
            hosts.add(JSONArray.of(queue.getTopic(), queue.getBrokerName(), queue.getQueueId(), host)));
        seen.put("hosts", hosts);
        seen.put("changed", decode(route).topicRouteDataChanged(decode(other)));
        return seen;
    }

    private static TopicRouteData decode(String route) {
        return RemotingSerializable.decode(route.getBytes(StandardCharsets.UTF_8), TopicRouteData.class);
    }

    private static JSONArray queues(Collection<MessageQueue> queues) {
        JSONArray list = new JSONArray();
        for (MessageQueue queue : queues) {
            list.add(JSONArray.of(queue.getTopic(), queue.getBrokerName(), queue.getQueueId()));
        }
        return list;
    }
}
