/** Types of the lake reports at /v1/reports/{name}. Times are ISO 8601 in UTC. */

/** What the lake has, from /v1/reports. */
export interface LakeContent {
  nameservers: string[];
  clusters: string[];
}

export interface Common {
  report: string;
  build: { id: string; at: string };
  from: string;
  to: string;
  zone: string;
}

export interface Availability extends Common {
  days: string[];
  brokers: {
    cluster: string; broker: string; addr: string; availability: number | null; outages: number; plannedOutages: number; mtbfS: number | null; mttrS: number | null;
    cells: (null | { a: number | null; up: number; seen: number; outages: number })[];
  }[];
  clusters: { cluster: string; brokers: number; availability: number | null; outages: number }[];
}

export interface Outages extends Common {
  outages: {
    cluster: string | null; broker: string; addr: string; fromAt: string; toAt: string | null; durationS: number | null; reason: string | null; planned: boolean | null;
    seenBy: string[]; topics: number; topicsWithoutBroker: string[]; orphaned: number; writeQueuesLost: number; lookupsDuring: number;
  }[];
  truncated: boolean;
}

export interface Flaps extends Common {
  flaps: { ns: string; cluster: string | null; broker: string; addr: string; windowStart: string; windowEnd: string; transitions: number; brokersFlapping: number; scope: "broker" | "nameserver" }[];
  truncated: boolean;
}

export interface Divergence extends Common {
  intervals: {
    topic: string | null; broker: string | null; addr: string | null; nsA: string; nsB: string; difference: string | null; atA: string | null; atB: string | null;
    topics: number | null; fromAt: string; toAt: string | null; durationS: number | null;
  }[];
  pairs: { nsA: string; nsB: string; intervals: number; totalS: number; longestS: number; open: number }[];
  truncated: boolean;
}

export interface Tradeoff extends Common {
  curves: {
    ns: string; cluster: string | null; detector: string | null;
    points: { timeoutMs: number; candidate: number | null; falsePerBrokerDay: number; meanDetectionS: number; recommended: boolean }[];
  }[];
  advice: { ns: string; cluster: string | null; detector: string | null; timeoutMs: number; falsePerBrokerDay: number; meanDetectionS: number; reason: string | null }[];
}

export interface Placement extends Common {
  day: string | null;
  topics: { ns: string; cluster: string | null; topic: string; brokers: number; writeQueues: number; readQueues: number; skew: number | null; singleBroker: boolean; noMaster: boolean }[];
  totals: { topics: number; singleBroker: number; noMaster: number; skewed: number };
  skewHistogram: { from: number; to: number | null; topics: number }[];
  truncated: boolean;
}

export interface Demand extends Common {
  hours: { hour: string; lookups: number; misses: number; bytes: number }[];
  topics: { topic: string; lookups: number; misses: number; bytes: number; clients: number }[];
  languages: { language: string; version: string; clients: number; lookups: number }[];
}

export interface Audit extends Common {
  requests: { at: string; ns: string; peer: string | null; who: string | null; action: string; target: string | null; before: string | null; after: string | null; allowed: boolean }[];
  truncated: boolean;
}

export interface Heartbeats extends Common {
  brokers: { cluster: string | null; broker: string; addr: string; beats: number; gapP50Ms: number; gapP99Ms: number; gapMaxMs: number }[];
  truncated: boolean;
}

export interface Convergence extends Common {
  changes: number;
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
  slowest: { changeId: string; topic: string | null; broker: string | null; firstAt: string; lastAt: string; nameservers: number; spreadMs: number }[];
}

export interface ControllerReport extends Common {
  failovers: number;
  failoverP50S: number | null;
  failoverMaxS: number | null;
  withoutMasterS: number;
  unclean: number;
  causes: { cause: string; elections: number }[];
  sets: {
    cluster: string; broker: string; elections: number; failovers: number; longestFailoverS: number | null; withoutMasterS: number; withoutMaster: boolean; unclean: number;
    outOfSyncS: number; outOfSync: number[];
  }[];
  elections: {
    at: string; ns: string; cluster: string; broker: string; outcome: string; cause: string; unclean: boolean; masterId: number | null; beforeId: number | null; masterEpoch: number;
    failoverS: number | null;
  }[];
  truncated: boolean;
}
