"""All commands of mqadmin 5.5.0: those that use a NameServer, in an order that works, and the others."""

from typing import Final, NamedTuple

# In order. {broker} and {controller} are addresses, {files} is a folder, {unique} and {offset_id} are ids of the first
# message, {traced} is the id of a message with a trace, in the topic `traced`. A command that changes the broker runs
# twice, once for each NameServer; {which} is a different name for each where the command would otherwise interfere.
COMMANDS: Final = (
    "updateTopic -c C1 -t t1 -r 4 -w 4",
    "updateTopic -b {broker} -t t2 -r 2 -w 2",
    "updateTopic -c C1 -t t3 -r 4 -w 4 -o true",
    "updateTopic -c C1 -t own-{which} -r 4 -w 4",
    "updateTopic -c C1 -t %RETRY%g1 -r 1 -w 1",  # otherwise a consumer of the group creates it
    "updateTopicPerm -c C1 -t own-{which} -p 4",
    "updateTopicList -c C1 -f {files}/topics.json",
    "clusterList",
    "clusterList -m",
    "clusterList -c C1",
    "topicList",
    "topicList -c",
    "topicRoute -t t1",
    "topicRoute -t t1 -l",
    "topicRoute -t t3",
    "topicRoute -t absent",
    "topicClusterList -t t1",
    "topicStatus -t t1",
    "allocateMQ -t t1 -i 10.0.0.1,10.0.0.2",
    "sendMessage -t t1 -p hello -k key -c tag -b b-a -i 0 -m true",
    "queryMsgByOffset -t t1 -b b-a -i 0 -o 0",
    "queryMsgById -t t1 -i {offset_id}",
    "queryMsgByUniqueKey -t t1 -i {unique}",
    "queryMsgByKey -t t1 -k key",
    "queryMsgTraceById -i {traced}",
    "printMsg -t t1 -d true",
    "printMsgByQueue -t t1 -a b-a -i 0 -p true -d true",
    "queryCq -t t1 -q 0 -i 0 -c 2",
    "topicRoute -t listed-2",
    "consumeMessage -t t1 -c 2",
    "sendMsgStatus -b b-a -c 2 -s 16",
    "checkMsgSendRT -t t1 -s 16 -a 2",
    "clusterRT -c C1 -a 2 -s 16 -i 600",
    "producerConnection -g nobody -t t1",
    "consumerConnection -g nobody",
    "consumerStatus -g nobody",
    "updateSubGroup -c C1 -g g1",
    "updateSubGroup -c C1 -g g2",
    "updateSubGroupList -c C1 -f {files}/groups.json",
    "getConsumerConfig -g g1",
    "resetOffsetByTime -g g1 -t t1 -s now",
    "skipAccumulatedMessage -g g1 -t t1",
    "cloneGroupOffset -s g1 -d g2 -t t1 -o true",
    "consumerProgress -g g1",
    "consumerProgress",
    "setConsumeMode -c C1 -t t1 -g g1 -m PULL -q 0",
    "statsAll -t t1",
    "brokerStatus -c C1",
    "getBrokerConfig -c C1",
    "updateBrokerConfig -c C1 -k maxTransferCountOnMessageInMemory -v 32",
    "haStatus -c C1",
    "getColdDataFlowCtrInfo -c C1",
    "updateColdDataFlowCtrGroupConfig -c C1 -g g1 -v 100",
    "removeColdDataFlowCtrGroupConfig -c C1 -g g1",
    "setCommitLogReadAheadMode -c C1 -m 0",
    "switchTimerEngine -c C1 -e F",
    "checkRocksdbCqWriteProgress -c C1 -t t1",
    "rocksDBConfigToJson -c C1",
    "exportConfigs -c C1 -f {files}",
    "exportMetadata -c C1 -f {files}",  # before a static topic exists, which it cannot read
    "exportMetrics -c C1 -f {files}",
    "exportPopRecord -c C1",
    "cleanUnusedTopic -c C1",
    "cleanExpiredCQ -c C1",
    "deleteExpiredCommitLog -c C1",
    "createUser -c C1 -u anna-{which} -p secret",
    "getUser -c C1 -u anna-{which}",
    "updateUser -c C1 -u anna-{which} -t Super",
    "listUser -c C1",
    "createAcl -c C1 -s User:anna-{which} -r Topic:t1 -a Pub -d Allow",
    "getAcl -c C1 -s User:anna-{which}",
    "updateAcl -c C1 -s User:anna-{which} -r Topic:t1 -a Pub,Sub -d Allow",
    "listAcl -c C1",
    "deleteAcl -c C1 -s User:anna-{which}",
    "deleteUser -c C1 -u anna-{which}",
    "updateTopic -c C1 -t many -r 1 -w 1 -a +message.type=LITE",
    "getBrokerLiteInfo -c C1 -d",
    "getParentTopicInfo -p many",
    "getLiteTopicInfo -p many -l one",
    "getLiteGroupInfo -p many -g g1",
    "getLiteClientInfo -p many -g g1 -c nobody",
    "triggerLiteDispatch -p many -g g1",
    "getNamesrvConfig",
    "updateNamesrvConfig -k waitSecondsForService -v 44",
    "updateNamesrvConfig -k kvConfigPath -v /x",
    "updateKvConfig -s shop -k open -v yes",
    "deleteKvConfig -s shop -k open",
    "updateOrderConf -m put -t t1 -v b-a:4",
    "updateOrderConf -m get -t t1",
    "topicRoute -t t1",
    "updateOrderConf -m delete -t t1",
    "updateOrderConf -m get -t t1",
    "wipeWritePerm -b b-a",
    "topicRoute -t t1",
    "addWritePerm -b b-a",
    "topicRoute -t t1",
    "updateStaticTopic -c C1 -t own-static-{which} -qn 4",
    "topicRoute -t own-static-{which}",
    "remappingStaticTopic -c C1 -t own-static-{which}",
    "topicRoute -t own-static-{which}",
    "deleteSubGroup -c C1 -g g1",
    "deleteTopic -c C1 -t t2",
    "topicRoute -t t2",
    "startMonitoring",  # runs in the background until the end
)

# With a controller, and a broker of its cluster C2.
CONTROLLER_COMMANDS: Final = (
    "clusterList -c C2",
    "getBrokerEpoch -c C2",
    "getBrokerEpoch -b b-ctl",
    "getSyncStateSet -a {controller} -c C2",
)


# Preparation for the commands of ELSEWHERE, sent to the broker itself.
BEFORE_ELSEWHERE: Final = (
    "createUser -b {broker} -u ben -p secret",
    "createAcl -b {broker} -s User:ben -r Topic:t1 -a Pub -d Allow",
)


class Elsewhere(NamedTuple):
    """A command without a NameServer, its target, and text that shows its success."""

    line: str
    asks: str
    answered: str


ELSEWHERE: Final = (
    Elsewhere("addBroker -c {broker} -b /x", "a broker container", "not supported"),
    Elsewhere("removeBroker -c {broker} -b C1:b-a:0", "a broker container", "not supported"),
    Elsewhere("resetMasterFlushOffset -b {broker} -o 0", "one broker, by its address", "success"),
    Elsewhere("brokerConsumeStats -b {broker}", "one broker, by its address", "Diff Total"),
    Elsewhere("producer -b {broker}", "one broker, by its address", ""),
    Elsewhere("copyUser -f {broker} -t {broker}", "two brokers, by their addresses", "success"),
    Elsewhere("copyAcl -f {broker} -t {broker}", "two brokers, by their addresses", "success"),
    Elsewhere("getControllerMetaData -a {controller}", "a controller", "ControllerLeaderId"),
    Elsewhere("getControllerConfig -a {controller}", "a controller", "controllerDLegerGroup"),
    Elsewhere(
        "updateControllerConfig -a {controller} -k scanNotActiveBrokerInterval -v 5000", "a controller", "success"
    ),
    Elsewhere("electMaster -a {controller} -b 1 -bn b-ctl -c C2", "a controller", "b-ctl"),
    Elsewhere("cleanBrokerMetadata -a {controller} -bn absent -c C2", "a controller", "absent"),
    Elsewhere("exportMetadataInRocksDB -p {files} -t topics", "files of its own machine", "load error"),
    Elsewhere("dumpCompactionLog -f {files}/absent", "files of its own machine", "not exist"),
)
