/** The little of it that the tests use; it comes without types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    readonly Client: {
      find(id: string): Promise<{ backchannelLogout(subject: string, sid: string): Promise<unknown> } | undefined>
    }
  }
}
