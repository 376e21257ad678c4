//! `corewise fleet manifest`: a Kubernetes job that visits machines; each report becomes the termination message of its pod.

use corewise_machine::suggested_command;

use super::arguments::FleetManifestArguments;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::output::print_form;
use crate::draw::suggestion;

/// Name of the job, and the label of its pods.
const NAME: &str = "corewise-fleet";

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
        let visit = suggestion::format_typed(&suggested_command::fleet_visit(self.budget));
        let (nodes, image) = (self.nodes, self.image.trim());
        let messages = "{range .items[*]}{.spec.nodeName}{\": \"}{.status.containerStatuses[0].state.terminated.message}{\"\\n\"}{end}";
        format!(
            "# Visits {nodes} machines at the same time, one pod each. A report has at most 4096 bytes, the limit of a termination message.
#   kubectl apply -f FILE
#   kubectl wait --for=condition=complete --timeout=10m job/{NAME}
#   kubectl get pods -l app={NAME} -o jsonpath='{messages}' | {add}
# A machine that had no room for its pod at the beginning may be missing, and another one visited twice.
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
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName"
        )
    }
}
