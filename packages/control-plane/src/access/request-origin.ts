import type { ApiRequest } from '@lcm/contract/route-spec'

/** Where a request came from, for the audit log. */
export interface RequestOrigin {
  /** Address of the client; `local` within the process. */
  readonly address: string
  readonly user_agent: string
}

const AGENT_CHARS_MAX = 200

/** Safe to print: without control and formatting characters, and short. */
export const originOf = ({ remote = 'local', headers }: ApiRequest): RequestOrigin => ({
  address: remote,
  user_agent: (headers['user-agent'] ?? '').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, '').slice(0, AGENT_CHARS_MAX),
})
