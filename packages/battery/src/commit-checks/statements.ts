/** A job that is over, and nothing else. */
export const endJob = (job: string, status = "failed") =>
  `update job set status = '${status}', finished_at = clock_timestamp(), lease_until = null where id = ${job};`;

/** The end of a destroy, as far as it is the server's own. */
export const destroyed = (job: string, server: string) =>
  `${endJob(job, "succeeded")}
   update server set status = 'deleted', deleted_at = now() where id = ${server};
   update address set state = 'quarantined', nic_id = null, free_after = now()
    where nic_id in (select id from nic where server_id = ${server});
   delete from nic where server_id = ${server};
   update region_vmid set state = 'tombstone', free_after = now() where server_id = ${server} and state = 'used';`;
