import { afterAll, beforeAll, describe, expect } from 'vitest'
import { openReplicas, type Replicas } from './clusters/api-replicas.ts'
import { type ControllerCluster, openControllerCluster } from './clusters/controller-cluster.ts'
import { enroll, type Learner } from './load/learner.ts'
import { startBalancer } from './processes/balancer.ts'
import { sessionStories } from './session-stories.ts'

const LIMIT_MS = 120_000

let replicas: Replicas
let balancer: Awaited<ReturnType<typeof startBalancer>>
let cluster: ControllerCluster
let learner: Learner
beforeAll(async () => {
  replicas = await openReplicas()
  balancer = await startBalancer(replicas.both.map(({ url }) => url))
  cluster = await openControllerCluster(replicas.environment, balancer.url)
  learner = await enroll(cluster)
}, LIMIT_MS)
afterAll(async () => {
  const defects = replicas.defects()
  await cluster.close()
  balancer.close()
  await replicas.close()
  expect(defects).toEqual([])
}, LIMIT_MS)

describe('two of each service on etcd and MongoDB', () => {
  sessionStories(
    () => ({ cluster, learner }),
    () => replicas.a.kill(),
  )
})
