import type { SettingValues } from '@lcm/domain/fleet/settings'
import type { WorkerPolicy } from '@lcm/domain/worker/observation'
import type { WorkerControllerConfig } from './config.ts'

/** The rules that hold now: the controller's own, with what operators have set since. */
export const currentPolicy = (config: WorkerControllerConfig, settings: SettingValues): WorkerPolicy => ({
  ...config.policy,
  fleet: config.fleet,
  licenseOnTerminate: settings.license_on_terminate,
  licenseOnStop: settings.license_on_stop,
})
