import type { ControlPlaneParts } from '@lcm/control-plane/control-plane'
import type { WebhookEnvironment } from '../environment/environment.ts'
import { readNamedFile } from '../environment/read-environment.ts'
import { StartupError } from '../startup-error.ts'
import { outboundFetch } from './outbound-fetch.ts'

/** The webhook config; empty if no webhook is configured. */
export function webhookOf(env: WebhookEnvironment, source: string): Pick<ControlPlaneParts, 'webhook'> {
  const { LCM_WEBHOOK_URL: url, LCM_WEBHOOK_TOKEN_FILE: path } = env
  if (url === undefined) return {}
  const token = path === undefined ? null : readNamedFile('LCM_WEBHOOK_TOKEN_FILE', path)
  if (token !== null && !/^[\x21-\x7e]+$/.test(token))
    throw new StartupError(`LCM_WEBHOOK_TOKEN_FILE=${path} must contain only printable characters without spaces`, {
      exitCode: 2,
    })
  return { webhook: { url, token, source, fetch: outboundFetch({ privateHosts: env.LCM_OUTBOUND_PRIVATE_HOSTS }) } }
}
