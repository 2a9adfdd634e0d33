// A round trip by the Go SDK: create a topic through its admin calls, send, receive, list, delete.
//
//	interop NAMESERVER BROKER_ADDR TOPIC COUNT
//
// The last line says what worked: "created sent 20 received 20 listed deleted".
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func must(what string, err error) {
	if err != nil {
		fmt.Println("failed:", what, err)
		os.Exit(1)
	}
}

func main() {
	rlog.SetLogLevel("error")
	nameserver, broker, topic := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	must("read the count", err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	resolver := primitive.NewPassthroughResolver([]string{nameserver})

	office, err := admin.NewAdmin(admin.WithResolver(resolver))
	must("start the admin", err)
	must("create the topic", office.CreateTopic(ctx, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(broker)))

	seen := make(map[string]bool)
	var lock sync.Mutex
	all := make(chan struct{})
	reader, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(resolver),
		consumer.WithGroupName(topic+"-group"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	must("make a consumer", err)
	must("subscribe", reader.Subscribe(topic, consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			lock.Lock()
			defer lock.Unlock()
			for _, message := range messages {
				seen[string(message.Body)] = true
			}
			if len(seen) == count {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			return consumer.ConsumeSuccess, nil
		}))

	writer, err := rocketmq.NewProducer(producer.WithNsResolver(resolver), producer.WithRetry(2))
	must("make a producer", err)
	must("start the producer", writer.Start())
	sent := 0
	for i := 0; i < count; i++ {
		_, err := writer.SendSync(ctx, primitive.NewMessage(topic, []byte(fmt.Sprintf("message-%d", i))))
		must("send", err)
		sent++
	}
	must("start the consumer", reader.Start())
	select {
	case <-all:
	case <-time.After(40 * time.Second):
	}
	lock.Lock()
	received := len(seen)
	lock.Unlock()

	topics, err := office.FetchAllTopicList(ctx)
	must("list topics", err)
	listed := "not-listed"
	for _, name := range topics.TopicList {
		if name == topic {
			listed = "listed"
		}
	}
	must("delete the topic", office.DeleteTopic(ctx, admin.WithTopicDelete(topic), admin.WithBrokerAddrDelete(broker), admin.WithNameSrvAddr([]string{nameserver})))
	fmt.Println("created sent", sent, "received", received, listed, "deleted")
	os.Exit(0)
}
