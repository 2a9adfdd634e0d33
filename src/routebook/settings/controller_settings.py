"""Java's settings of the Controller, as text: they may be in the same file as those of the NameServer."""

from typing import Final

# Java: ControllerConfig. All are shown by 1010; docs/controller.md lists those that have an effect.
CONTROLLER_DEFAULTS: Final[dict[str, str]] = {
    "configBlackList": "configBlackList;configStorePath",
    "controllerDLegerGroup": "",
    "controllerDLegerPeers": "",
    "controllerDLegerSelfId": "",
    "controllerRequestThreadPoolQueueCapacity": "50000",
    "controllerStorePath": "",
    "controllerThreadPoolNums": "16",
    "controllerType": "DLedger",
    "electMasterMaxRetryCount": "3",
    "enableElectUncleanMaster": "false",
    "isProcessReadEvent": "false",
    "mappedFileSize": "1073741824",
    "metricGrpcExporterIntervalInMills": "60000",
    "metricGrpcExporterTimeOutInMills": "3000",
    "metricLoggingExporterIntervalInMills": "10000",
    "metricsExporterType": "DISABLE",
    "metricsGrpcExporterHeader": "",
    "metricsGrpcExporterTarget": "",
    "metricsInDelta": "false",
    "metricsLabel": "",
    "metricsPromExporterHost": "",
    "metricsPromExporterPort": "5557",
    "notifyBrokerRoleChanged": "true",
    "scanInactiveMasterInterval": "5000",
    "scanNotActiveBrokerInterval": "5000",
}
