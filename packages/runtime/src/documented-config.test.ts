import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingMeter } from '@lcm/testkit/recording-meter'
import { scriptedWatchSource } from '@lcm/testkit/scripted-watch-source'
import { describe, expect, it } from 'vitest'
import { watchTriggeredHostedService } from './controller-presets.ts'
import {
  LEADER_ELECTION_DEFAULTS,
  type LeaderElectionConfig,
  RECONCILIATION_DEFAULTS,
  type ReconciliationConfig,
  WATCH_DEFAULTS,
  type WatchConfig,
} from './default-config.ts'
import { success } from './reconciliation/resource-state.ts'

/** "Worker Discovery & Observation", section 9: field and default of each table. */
const TABLES = {
  ReconciliationConfig: `
    interval_seconds 30.0
    initial_delay 5.0
    polling_enabled True
    max_concurrent 10
    backoff_base 1.0
    max_backoff 60.0
    backoff_multiplier 2.0
    metric_prefix "reconciliation"`,
  LeaderElectionConfig: `
    etcd_endpoints ["localhost:2379"]
    lease_ttl 15
    retry_interval 5.0
    service_name "service"`,
  WatchConfig: `
    enabled True
    prefix ""
    reconnect_delay 1.0
    max_reconnect_attempts 10
    debounce_seconds 0.5`,
}

/** "Background Task Scheduling", the examples of the three objects. */
const EXAMPLES = {
  ReconciliationConfig: `
    interval_seconds=30,                 # Polling interval
    initial_delay_seconds=5.0,           # Delay before first poll
    polling_enabled=True,                # Enable/disable polling mode
    max_concurrent_reconciles=10,        # Parallel reconciliation limit
    service_name="resource-scheduler",`,
  LeaderElectionConfig: `
    etcd_endpoints=["localhost:2379"],
    lease_ttl_seconds=15,
    service_name="resource-scheduler",`,
  WatchConfig: `
    enabled=True,
    prefix="/sessions/",                 # etcd key prefix to watch
    debounce_seconds=0.5,                # Debounce rapid events`,
}

/** Our name and unit factor for each name in the documents. */
const FIELDS: Readonly<
  Record<string, readonly [keyof (ReconciliationConfig & LeaderElectionConfig & WatchConfig), number?]>
> = {
  interval_seconds: ['intervalMs', 1000],
  initial_delay: ['initialDelayMs', 1000],
  initial_delay_seconds: ['initialDelayMs', 1000],
  polling_enabled: ['pollingEnabled'],
  max_concurrent: ['maxConcurrent'],
  max_concurrent_reconciles: ['maxConcurrent'],
  backoff_base: ['backoffBaseMs', 1000],
  max_backoff: ['backoffMaxMs', 1000],
  backoff_multiplier: ['backoffMultiplier'],
  metric_prefix: ['metricPrefix'],
  service_name: ['serviceName'],
  etcd_endpoints: ['etcdEndpoints'],
  lease_ttl: ['leaseTtlMs', 1000],
  lease_ttl_seconds: ['leaseTtlMs', 1000],
  retry_interval: ['retryIntervalMs', 1000],
  enabled: ['enabled'],
  prefix: ['prefix'],
  reconnect_delay: ['reconnectDelayMs', 1000],
  max_reconnect_attempts: ['maxReconnectAttempts'],
  debounce_seconds: ['debounceMs', 1000],
}

/** Fields of an example, under our names and in our units. */
function configIn(text: string): object {
  const fields = [...text.matchAll(/^ *(\w+)[ =]([^#\n]*?),? *(?:#.*)?$/gm)].map(([, name = '', written = '']) => {
    const [ours, size] = FIELDS[name] ?? ['unknown']
    const value: unknown = JSON.parse(written.replace('True', 'true'))
    return [ours, size === undefined ? value : Number(value) * size]
  })
  return Object.fromEntries(fields)
}

describe('the configuration objects of the documents', () => {
  it('have the documented defaults, in tables and in examples', () => {
    expect(Object.keys(configIn(TABLES.ReconciliationConfig))).toHaveLength(8)
    expect(RECONCILIATION_DEFAULTS).toMatchObject(configIn(TABLES.ReconciliationConfig))
    expect(LEADER_ELECTION_DEFAULTS).toMatchObject(configIn(TABLES.LeaderElectionConfig))
    expect(WATCH_DEFAULTS).toMatchObject(configIn(TABLES.WatchConfig))
    const { leaseTtlMs, etcdEndpoints } = LEADER_ELECTION_DEFAULTS
    const example = configIn(EXAMPLES.LeaderElectionConfig)
    expect({ leaseTtlMs, etcdEndpoints, serviceName: 'resource-scheduler' }).toEqual(example)
  })

  it('put the keys of elections under /lcm, as the table of election keys does, and not under /elections', () => {
    expect(LEADER_ELECTION_DEFAULTS.electionKeyPrefix).toBe('/lcm')
  })

  it('take effect: the examples create a loop that watches, sweeps, polls and reconciles that many keys at a time', async () => {
    const clock = manualClock()
    const source = scriptedWatchSource<string>()
    const [watched, listed, started]: [string[], number[], number[]] = [[], [], []]
    const meter = recordingMeter()
    let [active, most] = [0, 0]
    const loop = watchTriggeredHostedService<string, string>(
      {
        async *listResources() {
          listed.push(clock.monotonic())
          yield Array.from({ length: 12 }, (_, n) => `s-${n}`)
        },
        keyOf: id => id,
        fetchResource: async id => id,
        async reconcile(id) {
          active += 1
          most = Math.max(most, active)
          if (id === 's-12') started.push(clock.monotonic())
          await clock.sleep(100)
          active -= 1
          return success()
        },
        watchSource(prefix) {
          watched.push(prefix)
          return source
        },
        parseWatchKey: key => key.split('/').at(-1) ?? null,
      },
      configIn(EXAMPLES.ReconciliationConfig),
      configIn(EXAMPLES.WatchConfig),
      { clock, meter },
    )
    const stop = new AbortController()
    const over = loop.run(stop.signal)
    await clock.advance(9_000)
    for (const hint of ['a', 'b', 'c']) source.put('/sessions/s-12', hint)
    await clock.advance(26_000)
    expect(watched).toEqual(['/sessions/'])
    expect(listed).toEqual([2_000, 5_000, 35_000])
    expect(most).toBe(10)
    expect(started).toEqual([9_000, 9_500])
    stop.abort()
    await Promise.all([over, clock.advance(20_000)])
  })
})
