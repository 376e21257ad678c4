//! `corewise fleet manifest`: a Kubernetes job that visits machines; each report becomes the termination message of its pod.

use std::time::Duration;

use corewise_machine::suggested_command;

use super::arguments::FleetManifestArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_form;
use crate::draw::suggestion;

/// Name of the job, and the label of its pods.
const NAME: &str = "corewise-fleet";
/// Longest time for scheduling the pods and fetching their image.
const BESIDES: Duration = Duration::from_mins(10);

impl FleetManifestArguments {
    /// Prints the manifest.
    pub fn print_manifest(self) -> Result<CommandExit, CommandFailure> {
        let image = self.image.trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
        if image.is_empty() || !image.bytes().all(is_plain) {
            return Err(CommandFailure::usage_error(format!("\"{image}\" is no name of an image")));
        }
        print_form(&self.write_manifest())?;
        Ok(CommandExit::Done)
    }

    fn write_manifest(&self) -> String {
        let add = suggestion::format_typed(&suggested_command::fleet_add_from_pipe());
        let add_files = suggestion::format_typed(&suggested_command::fleet_add_files(&[
            "visits-1.txt".to_owned(),
            "visits-2.txt".to_owned(),
        ]));
        let visit = suggestion::format_typed(&suggested_command::fleet_visit(self.budget));
        let (nodes, image) = (self.nodes, self.image.trim());
        // A visit may take half as long again; images are fetched before it.
        let longest = (self.budget.mul_f64(1.5) + BESIDES).as_secs();
        let states = "{.status.conditions[*].type}";
        let messages = "{range .items[*]}{.spec.nodeName}{\": \"}{.status.containerStatuses[0].state.terminated.message}{\"\\n\"}{end}";
        format!(
            "# Visits {nodes} machines at the same time, one pod each. A report has at most 4096 bytes, the limit of a termination message.
#   kubectl apply -f FILE
#   timeout {longest} sh -c \"until kubectl get job {NAME} -o jsonpath='{states}' | grep -qE 'Complete|Failed'; do sleep 2; done\"
#   kubectl get pods -l app={NAME} -o jsonpath='{messages}' | tee visits-1.txt | {add}
# The job is Failed if a pod failed; the reports of the others are there all the same. The last lines of a pod that failed are its reason.
# Two visits of each machine or more prove something. For the next one, into visits-2.txt, delete the job and apply it again; then judge all
# visits together:
#   kubectl delete job {NAME}
#   {add_files}
# A machine that had no room for its pod at the beginning may be missing, and another one visited twice. Machines with taints are not visited
# without tolerations.
apiVersion: batch/v1
kind: Job
metadata:
  name: {NAME}
spec:
  completionMode: Indexed
  parallelism: {nodes}
  completions: {nodes}
  backoffLimitPerIndex: 0
  maxFailedIndexes: {nodes}
  template:
    metadata:
      labels:
        app: {NAME}
    spec:
      restartPolicy: Never
      # tolerations: [{{ operator: Exists }}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: {NAME}
      containers:
        - name: visit
          image: {image}
          command: [\"/bin/sh\", \"-c\", \"exec {visit} --node \\\"$NODE_NAME\\\" > /dev/termination-log\"]
          terminationMessagePolicy: FallbackToLogsOnError
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName"
        )
    }
}
