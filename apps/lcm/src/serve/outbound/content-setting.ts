import type { Objects } from '@lcm/cloud/object-storage'
import { type ContentSources, contentSources } from '@lcm/controllers/lablet/content/content-sources'
import { systemClock as clock } from '@lcm/runtime/clock'
import type { ContentEnvironment } from '../environment/environment.ts'
import { outboundFetch } from './outbound-fetch.ts'

interface ContentSetting {
  /** Files are read below this folder only; null: none are. */
  readonly folder: string | null
  /** Null for a cloud without buckets. */
  readonly objects: Objects | null
}

/** The sources of topologies, within what operators allow. */
export const contentSourcesOf = (env: ContentEnvironment, setting: ContentSetting): ContentSources =>
  contentSources({
    ...setting,
    clock,
    fetch: outboundFetch({ privateHosts: env.LCM_OUTBOUND_PRIVATE_HOSTS }),
    hosts: env.LCM_CONTENT_HOSTS ?? null,
    buckets: env.LCM_CONTENT_BUCKETS ?? null,
  })
