// Many mqadmin commands in one JVM: a line of stdin is a command with its arguments, separated by tabs; its output is
// printed between the lines "<<<" and ">>>". An empty line is mqadmin without arguments. `clusterRT` ends after one round.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

public class MqAdmin {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        hurry();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            PrintStream captured = new PrintStream(text, true, StandardCharsets.UTF_8);
            System.setOut(captured);
            System.setErr(captured);
            try {
                MQAdminStartup.main0(line.isEmpty() ? new String[0] : line.split("\t"), null);
            } finally {
                System.setOut(out);
                System.setErr(err);
            }
            out.println("<<<");
            out.print(text.toString(StandardCharsets.UTF_8));
            out.println();
            out.println(">>>");
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    // The shutdown of a client waits up to three seconds for a thread that polls a queue: wake it. `clusterRT` never ends:
    // interrupt it when it sleeps between two rounds.
    private static void hurry() {
        Thread commands = Thread.currentThread();
        Thread waker = new Thread(() -> {
            while (true) {
                StackTraceElement[] frames = commands.getStackTrace();
                for (int i = 1; i < frames.length; i++) {
                    if (frames[i - 1].getMethodName().equals("sleep")
                            && frames[i].getClassName().endsWith(".CLusterSendMsgRTCommand")) {
                        commands.interrupt();
                    }
                }
                for (Thread thread : Thread.getAllStackTraces().keySet()) {
                    if (thread.getName().contains("NettyEventExecutor") && thread.isAlive()) {
                        for (StackTraceElement frame : thread.getStackTrace()) {
                            if (frame.getMethodName().equals("poll")) {
                                thread.interrupt();
                                break;
                            }
                        }
                    }
                }
                try {
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        waker.setDaemon(true);
        waker.start();
    }
}
