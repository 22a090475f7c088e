import { apiClient, type Client } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { Role } from '@lcm/domain/actor'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { aWorker } from '@lcm/testkit/test-data-builders'

/** The real API as a browser with a login meets it. */
export class ConsoleApi {
  plane: AControlPlane = aControlPlane()
  /** Role of the browser's session; null without one. */
  role: Role | null = 'admin'
  readonly transport: Dispatch = request =>
    this.plane.dispatch({
      ...request,
      // Pages are small, so that a few resources fill more than one.
      url: request.url.replace('limit=250', 'limit=2'),
      headers: { ...request.headers, ...(this.role === null ? {} : { authorization: `Bearer ${this.role}` }) },
    })
  readonly client: Client = apiClient(this.transport)

  /** Writes a worker with the version that it names. */
  async insertWorker(id: string, version: number): Promise<void> {
    await this.plane.put('workers', aWorker({ id, name: `metal-${id.slice(2)}`, version }))
  }

  /** Positions from which the streams were opened. */
  openedAfter(): (string | undefined)[] {
    return this.plane.requestsOf('events').map(({ request }) => request.headers['last-event-id'])
  }
}
